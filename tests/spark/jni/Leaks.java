package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Readers that are opened and closed again and again, read to their end or not, failed or not. */
final class Leaks {
    private static final long MOST_BYTES = 24 << 20;
    private static final long MOST_FILES = 8;

    private final Reads reads;

    Leaks(Reads reads) {
        this.reads = reads;
    }

    /** What a process has. */
    record State(long nativeBytes, long files, long threads) {
        static State now() throws IOException {
            System.gc();
            long bytes = Probe.isLoaded() ? Probe.allocated() : 1024 * status("RssAnon:");
            try (var files = Files.list(Path.of("/proc/self/fd"))) {
                return new State(bytes, files.count(), status("Threads:"));
            }
        }

        private static long status(String name) throws IOException {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
            throw new IOException("no " + name);
        }

        void checkAgainst(State before) {
            Calls.require(nativeBytes - before.nativeBytes < MOST_BYTES && files - before.files < MOST_FILES
                && threads - before.threads < MOST_FILES, "leaks: " + before + " became " + this);
        }
    }

    void round(long times) throws Exception {
        Map<String, String> options = new HashMap<>(Map.of("path", reads.root().resolve("logs").toString(),
            "subscribePattern", "codecs|json", "includeHeaders", "true", "valueFormat", "json",
            "valueSchema", Formats.JSON_SCHEMA, "mode", "PERMISSIVE"));
        Random random = new Random(1);
        Reads.Scan scan = reads.scan(random, options, Json.array(), KafkastoreScanBuilder.NO_LIMIT);
        for (long i = 0; i < times; i++) {
            int share = random.nextInt(scan.shares().size());
            switch (random.nextInt(5)) {
                case 0 -> Reads.asSpark(scan, share, random, -1);
                case 1 -> Reads.directly(scan, share, random, 1);
                case 2 -> Native.close(Native.open(scan.request(share, 100).toString()));
                case 3 -> Calls.refused("a file that is none", () -> failed(scan.request(share, 100)));
                default -> Calls.refused("a split that is none",
                    () -> Native.open(scan.request(share, 100).set("splits", Json.array().add("{")).toString()));
            }
        }
    }

    /** A reader that opens, and then finds no directory. */
    private static void failed(ObjectNode request) {
        ArrayNode splits = (ArrayNode) request.get("splits");
        splits.set(0, splits.textNode(splits.get(0).asText().replace("/0000", "/none/0000")));
        long handle = Native.open(request.put("failOnDataLoss", true).toString());
        try {
            Native.next(handle, new long[400]);
        } finally {
            Native.close(handle);
        }
    }
}
