package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Stream;

/** Bulk loads with odd requests and blocks, into log directories of their own; nothing may be left there. */
final class Loads {
    private static final int PARTITIONS = 3;
    private static final int[] LENGTHS = {0, -1, 1, Integer.MIN_VALUE, Integer.MAX_VALUE};

    private final Path dir;
    private final Proxy proxy;

    /** {@code meta} is the {@code meta.properties} of a broker. */
    Loads(Path dir, Path meta, Proxy proxy) {
        this.dir = dir;
        this.proxy = proxy;
        try {
            Files.createDirectories(dir);
            Files.write(dir.resolve("meta.properties"), Files.readAllBytes(meta));
        } catch (IOException error) {
            throw new JniFuzz.Finding("no directory for loads: " + error);
        }
    }

    void run(Random random) throws Exception {
        ObjectNode request = request(random);
        String text = random.nextInt(4) == 0 ? Requests.broken(request, random) : request.toString();
        Long handle = Calls.answer(() -> NativeLoad.open(text));
        if (handle == null) {
            return;
        }
        for (int i = random.nextInt(6); i >= 0; i--) {
            byte[] block = random.nextInt(10) == 0 ? null : Writes.block(random);
            int length = block == null || random.nextInt(6) == 0 ? LENGTHS[random.nextInt(LENGTHS.length)]
                : block.length;
            Calls.done(() -> NativeLoad.append(handle, block, length));
        }
        if (random.nextBoolean()) { // refused: there is no such driver
            Calls.refused("what a load of no driver has staged", () -> NativeLoad.finish(handle));
        }
        for (int i = random.nextInt(2); i >= 0; i--) {
            NativeLoad.close(handle);
        }
        Calls.refused("the end of a closed load", () -> NativeLoad.finish(handle));
        Calls.refused("rows for a closed load", () -> NativeLoad.append(handle, new byte[0], 0));
        try (Stream<Path> left = Files.list(dir)) {
            Calls.require(left.noneMatch(Files::isDirectory), "a load that has not finished leaves nothing");
        }
    }

    private ObjectNode request(Random random) throws IOException {
        String clusterId = Files.readAllLines(dir.resolve("meta.properties")).stream()
            .filter(line -> line.startsWith("cluster.id=")).findFirst().orElseThrow().substring(11);
        ObjectNode request = Json.object();
        request.putObject("options").put("kafka.bootstrap.servers", proxy.address(random))
            .put("kafka.max.block.ms", "150").put("kafka.request.timeout.ms", "100")
            .put("kafka.retry.backoff.ms", "10");
        request.put("topic", "loaded").put("clusterId", clusterId);
        ArrayNode leaders = request.putArray("leaders");
        for (int i = 0; i < PARTITIONS; i++) {
            leaders.addObject().put("node", 1).put("host", "127.0.0.1").put("dir", dir.toString());
        }
        request.put("loadId", "fuzz-load-" + random.nextInt(3)).put("driverId", random.nextInt(9));
        String[] codecs = {"none", "gzip", "snappy", "lz4", "zstd"};
        request.put("driverEpoch", random.nextInt(3)).put("compression", codecs[random.nextInt(codecs.length)]);
        request.put("level", random.nextInt(4) == 0 ? random.nextInt() : null);
        request.put("batchBytes", random.nextInt(2000)).put("maxMessageBytes", random.nextInt(3000));
        request.put("segmentBytes", random.nextInt(9000)).put("needsKeys", random.nextInt(8) == 0);
        return request.put("nowMs", random.nextInt(9) == 0 ? random.nextLong() : 1_700_000_000_000L);
    }
}
