package io.kafkastore.spark;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Stands between the natives and a broker, and damages some of its answers. Metadata name the proxy's port in place of
 * the broker's, so that every connection leads here.
 */
final class Proxy implements AutoCloseable {
    private static final int MOST_BYTES = 8 << 20;

    private final ServerSocket server;
    private final int brokerPort;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();

    private Proxy(ServerSocket server, int brokerPort) {
        this.server = server;
        this.brokerPort = brokerPort;
    }

    static Proxy start(String bootstrap) throws IOException {
        if (bootstrap == null) {
            return new Proxy(null, 0);
        }
        int port = Integer.parseInt(bootstrap.substring(bootstrap.indexOf(':') + 1));
        Proxy proxy = new Proxy(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), port);
        proxy.daemon(proxy::accept);
        return proxy;
    }

    boolean hasBroker() {
        return server != null;
    }

    /** The proxy's address, as text for bootstrap.servers; the broker's own at times. */
    String address(Random random) {
        return "127.0.0.1:" + (random.nextInt(6) == 0 ? brokerPort : server.getLocalPort());
    }

    private void daemon(Calls.Action action) {
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (Exception error) {
                // the connection has ended
            }
        }, "proxy");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        for (long number = 0;; number++) {
            Socket client = server.accept();
            Random random = new Random(number);
            daemon(() -> serve(client, random));
        }
    }

    private void serve(Socket client, Random random) throws Exception {
        try (client; Socket broker = new Socket(InetAddress.getLoopbackAddress(), brokerPort)) {
            open.add(client);
            Thread.currentThread().setName("proxy of " + client.getPort());
            daemon(() -> {
                try (client; broker) {
                    client.getInputStream().transferTo(broker.getOutputStream());
                }
            });
            DataInputStream answers = new DataInputStream(broker.getInputStream());
            DataOutputStream out = new DataOutputStream(client.getOutputStream());
            while (pass(answers, out, random)) { }
        } finally {
            open.remove(client);
        }
    }

    /** Passes one answer on; false to close the connection. */
    private boolean pass(DataInputStream answers, DataOutputStream out, Random random) throws IOException {
        int size = answers.readInt();
        if (size < 0 || size > MOST_BYTES) {
            return false;
        }
        byte[] answer = answers.readNBytes(size);
        nameProxy(answer);
        int chance = random.nextInt(150);
        if (chance == 0) {
            out.writeInt(random.nextBoolean() ? random.nextInt() : Integer.MAX_VALUE); // a length that is wrong
        } else if (chance == 1) {
            answer = Arrays.copyOf(answer, random.nextInt(size + 1));
            out.writeInt(size);
            out.write(answer);
            return false; // ends within an answer
        } else if (chance < 15 && size > 4) {
            for (int i = random.nextInt(3); i >= 0; i--) {
                int at = random.nextInt(20) == 0 ? random.nextInt(4) : 4 + random.nextInt(size - 4);
                answer[at] = (byte) (random.nextBoolean() ? answer[at] ^ (1 << random.nextInt(8)) : random.nextInt());
            }
            out.writeInt(size);
        } else {
            out.writeInt(size);
        }
        out.write(answer);
        out.flush();
        return chance != 2;
    }

    private void nameProxy(byte[] answer) {
        ByteBuffer buffer = ByteBuffer.wrap(answer);
        for (int at = 0; at + 4 <= answer.length; at++) {
            if (buffer.getInt(at) == brokerPort) {
                buffer.putInt(at, server.getLocalPort());
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (server != null) {
            server.close();
            for (Socket socket : open) {
                socket.close();
            }
        }
    }
}
