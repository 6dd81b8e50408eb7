package io.kafkastore.spark;

import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.unsafe.Platform;

/**
 * Calls the natives of {@link Native} and {@link NativeProducer} with random and broken input, as the source and the
 * sink call them, without a session of Spark. tests/spark/jni_fuzz.py starts it.
 *
 * <p>Each case has a number, from which with the seed all of its input follows. A case may end with one of our own
 * exceptions; any other exception, a panic of the library and a wrong batch are findings. What every thread is doing
 * stands in a mapped file, which outlives a crash of the JVM. Arguments are {@code name=value}:
 *
 * <pre>
 * folder     has the log directories "logs" and schema files; working copies are made beside them
 * bootstrap  a broker that has the same topics
 * seed, cases, seconds, threads
 * probe      a library that knows which memory AddressSanitizer has marked as freed (probe.c); may be left out
 * only       names of kinds of cases, with commas; all of them but "crash" when it is left out
 * first      number of the first case
 * leaks      readers in each round of the check for leaks; none when it is left out
 * verbose    the sentences of refusals are printed
 * </pre>
 */
public final class JniFuzz {
    private static final int NOTE_BYTES = 256;
    private static final int MOST_FINDINGS = 20;
    private static final int LEAK_ROUNDS = 4;

    /** One kind of case. */
    interface Kind {
        void run(Random random) throws Exception;
    }

    /** A finding that is no exception of the natives. */
    static final class Finding extends RuntimeException {
        private static final long serialVersionUID = 1;

        Finding(String message) {
            super(message);
        }
    }

    private final Map<String, String> arguments;
    private final long seed;
    private final long cases;
    private final long endNanos;
    private final AtomicLong next;
    private final Map<String, long[]> counts = new TreeMap<>(); // by kind: cases, seconds in nanos
    private final List<String> findings = new ArrayList<>();
    private MappedByteBuffer notes;

    private JniFuzz(Map<String, String> arguments) {
        this.arguments = arguments;
        seed = number("seed", 1);
        long first = number("first", 0);
        cases = first + number("cases", Long.MAX_VALUE / 2);
        endNanos = System.nanoTime() + 1_000_000_000L * number("seconds", 3600);
        next = new AtomicLong(first);
    }

    private long number(String name, long otherwise) {
        return Long.parseLong(arguments.getOrDefault(name, Long.toString(otherwise)));
    }

    public static void main(String[] given) throws Exception {
        Map<String, String> arguments = new HashMap<>();
        for (String one : given) {
            arguments.put(one.substring(0, one.indexOf('=')), one.substring(one.indexOf('=') + 1));
        }
        System.exit(new JniFuzz(arguments).run() ? 0 : 1);
    }

    private boolean run() throws Exception {
        Probe.load(arguments.get("probe"));
        Path folder = Path.of(arguments.get("folder"));
        int threads = (int) number("threads", 4);
        try (FileChannel file = new RandomAccessFile(folder.resolve("notes").toFile(), "rw").getChannel()) {
            notes = file.map(FileChannel.MapMode.READ_WRITE, 0, (long) NOTE_BYTES * threads);
        }
        try (Proxy proxy = Proxy.start(arguments.get("bootstrap"));
            Damager damager = Damager.start(folder, seed)) {
            List<Thread> running = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int slot = i;
                List<Map.Entry<String, Kind>> kinds = kinds(folder, slot, proxy);
                Thread thread = new Thread(() -> work(slot, kinds), "fuzz-" + i);
                thread.start();
                running.add(thread);
            }
            for (Thread thread : running) {
                thread.join();
            }
            Files.deleteIfExists(folder.resolve("notes"));
            counts.forEach((kind, count) ->
                System.out.printf("%-10s %7d cases %8.1f s%n", kind, count[0], count[1] / 1e9));
            System.out.println(Calls.summary());
            if (arguments.containsKey("verbose")) {
                Calls.printSentences();
            }
            checkWasUseful();
            leaks(folder, proxy);
        }
        findings.forEach(System.out::println);
        System.out.println("findings: " + findings.size());
        return findings.isEmpty();
    }

    /** The kinds of one thread; each is there as often as it is worth. */
    private List<Map.Entry<String, Kind>> kinds(Path folder, int slot, Proxy proxy) {
        Reads reads = new Reads(folder, "work-" + slot, proxy);
        List<Map.Entry<String, Kind>> kinds = new ArrayList<>();
        kinds.addAll(Collections.nCopies(2, Map.entry("clean", reads::clean)));
        kinds.addAll(Collections.nCopies(7, Map.entry("damaged", reads::damaged)));
        kinds.addAll(Collections.nCopies(4, Map.entry("live", reads::live)));
        kinds.addAll(Collections.nCopies(6, Map.entry("request", new Requests(reads)::run)));
        kinds.addAll(Collections.nCopies(3, Map.entry("life", new Lives(reads)::run)));
        kinds.addAll(Collections.nCopies(2, Map.entry("write", new Writes(proxy)::run)));
        kinds.add(Map.entry("network", reads::network));
        if (proxy.hasBroker()) {
            Path meta = folder.resolve("logs").resolve("meta.properties");
            kinds.add(Map.entry("load", new Loads(folder.resolve("loads-" + slot), meta, proxy)::run));
        }
        String only = arguments.get("only");
        if ("crash".equals(only)) {
            kinds.add(Map.entry("crash", random -> Platform.getByte(null, 8)));
        }
        kinds.removeIf(kind -> only != null && !Arrays.asList(only.split(",")).contains(kind.getKey()));
        return kinds;
    }

    private void work(int slot, List<Map.Entry<String, Kind>> kinds) {
        while (System.nanoTime() < endNanos) {
            long number = next.getAndIncrement();
            if (number >= cases) {
                break;
            }
            Random random = new Random(seed * 1_000_003 + number);
            random.nextInt(); // the first numbers of neighbouring seeds are alike
            Map.Entry<String, Kind> chosen = kinds.get(random.nextInt(kinds.size()));
            String kind = chosen.getKey();
            note(slot, "case " + number + " " + kind);
            long begun = System.nanoTime();
            try {
                chosen.getValue().run(random);
            } catch (Throwable error) { // an Error is a finding too
                found("case " + number + " " + kind, error);
            }
            Thread.interrupted();
            long took = System.nanoTime() - begun;
            synchronized (counts) {
                long[] count = counts.computeIfAbsent(kind, name -> new long[2]);
                count[0]++;
                count[1] += took;
            }
        }
        note(slot, "");
    }

    private void found(String where, Throwable error) {
        StringBuilder text = new StringBuilder("FINDING " + where + " of seed " + seed + ": " + error);
        StackTraceElement[] trace = error.getStackTrace();
        for (int i = 0; i < Math.min(8, trace.length); i++) {
            text.append("\n    at ").append(trace[i]);
        }
        synchronized (findings) {
            if (findings.size() < MOST_FINDINGS) {
                findings.add(text.toString());
            }
        }
    }

    private void note(int slot, String text) {
        byte[] bytes = Arrays.copyOf(text.getBytes(StandardCharsets.UTF_8), NOTE_BYTES);
        bytes[NOTE_BYTES - 1] = '\n';
        synchronized (notes) {
            notes.put(slot * NOTE_BYTES, bytes);
        }
    }

    /** A run in which no batch was read, or nothing was refused, would prove nothing. */
    private void checkWasUseful() {
        if (arguments.get("only") == null && (Calls.ROWS.get() == 0 || Calls.REFUSED.get() == 0)) {
            found("all cases", new Finding("nothing was read, or nothing was refused"));
        }
    }

    /** The same work again and again: memory, files and threads must not grow with it. */
    private void leaks(Path folder, Proxy proxy) throws Exception {
        long rounds = number("leaks", 0);
        if (rounds == 0) {
            return;
        }
        Leaks leaks = new Leaks(new Reads(folder, "leaks", proxy));
        leaks.round(rounds);
        Leaks.State before = Leaks.State.now();
        for (int i = 0; i < LEAK_ROUNDS; i++) {
            leaks.round(rounds);
        }
        Leaks.State after = Leaks.State.now();
        System.out.println("after " + LEAK_ROUNDS * rounds + " opened readers: " + before + " -> " + after);
        try {
            after.checkAgainst(before);
        } catch (Finding error) {
            found("leaks", error);
        }
    }
}
