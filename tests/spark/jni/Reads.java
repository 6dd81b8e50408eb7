package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Plans and reads of topics as the source makes them, with random options, over files that are whole or broken. */
final class Reads {
    static final String[] TOPICS = {"codecs", "json", "csv", "avro", "protobuf", "transactions", "old", "empty"};
    private static final int MOST_SHARES = 6;
    private static final int BATCH_BYTES = 1 << 20;

    private final Path root;
    private final Path own;
    private final Proxy proxy;
    private final Set<Path> damaged = new HashSet<>();

    Reads(Path root, String own, Proxy proxy) {
        this.root = root;
        this.own = root.resolve(own);
        this.proxy = proxy;
    }

    /** A planned scan of some columns. */
    record Scan(List<KafkastoreScan.SharePartition> shares, StructType columns, Values values, int limit) {
        PartitionReader<ColumnarBatch> reader(int share) {
            return new ShareReaderFactory(columns, values, Map.of(), limit).createColumnarReader(shares.get(share));
        }

        /** The request that {@link ShareReaderFactory} makes. */
        ObjectNode request(int share, int batchRows) {
            ObjectNode request = (ObjectNode) Json.parse(shares.get(share).scan());
            ArrayNode splits = request.putArray("splits");
            for (String split : shares.get(share).splits()) {
                splits.add(split);
            }
            ArrayNode names = request.putArray("columns");
            for (String name : columns.fieldNames()) {
                names.add(Columns.own(name).name());
            }
            request.putObject("kafka");
            values.addTo(request, columns);
            return request.put("batchRows", batchRows).put("batchBytes", BATCH_BYTES);
        }

        NativeVector[] vectors() {
            NativeVector[] vectors = new NativeVector[columns.size()];
            for (int i = 0; i < vectors.length; i++) {
                vectors[i] = NativeVector.of(columns.apply(i).dataType());
            }
            return vectors;
        }

        long[] places() {
            int count = 0;
            for (NativeVector vector : vectors()) {
                count += vector.placeCount();
            }
            return new long[count];
        }
    }

    Path root() {
        return root;
    }

    // ---- kinds of cases

    /** Whole files: as many rows as the headers of batches say. */
    void clean(Random random) throws Exception {
        Map<String, String> options = options(random, root.resolve("logs"));
        options.remove("startingOffsets");
        options.put("kafka.isolation.level", "read_uncommitted");
        Scan scan = Calls.answer(() -> scan(random, options, Json.array(), KafkastoreScanBuilder.NO_LIMIT));
        JsonNode summary = Json.parse(Native.summarise(request(options, Json.array()).toString())).get("partitions");
        if (scan == null || scan.values().dropsRecords() || "FAILFAST".equals(options.get("mode"))) {
            return;
        }
        long expected = 0;
        for (JsonNode partition : summary) {
            expected += partition.get("records").asLong();
        }
        long found = 0;
        for (int i = 0; i < scan.shares().size(); i++) {
            found += random.nextBoolean() ? asSpark(scan, i, random, -1) : directly(scan, i, random, -1);
        }
        Calls.require(found == expected, found + " rows were read, not " + expected);
    }

    /** Files of one's own, damaged before the plan, before the read and while it reads. */
    void damaged(Random random) throws Exception {
        makeWhole();
        if (random.nextBoolean()) {
            damage(random);
        }
        read(random, options(random, own), () -> damage(random));
    }

    /** Files that other threads read too, and that another damages. */
    void live(Random random) throws Exception {
        read(random, options(random, root.resolve("live")), () -> { });
    }

    /** Through a proxy that damages the answers of the broker; also with files, of which some are gone. */
    void network(Random random) throws Exception {
        Map<String, String> options = options(random, root.resolve("logs"));
        options.replace("subscribe", "old", "codecs"); // no broker has it
        if (random.nextBoolean()) {
            options.remove("path");
        } else if (random.nextBoolean()) {
            makeWhole();
            damage(random);
            options.put("path", own.toString());
        }
        options.put("kafka.bootstrap.servers", proxy.address(random));
        read(random, options, () -> { });
    }

    private void makeWhole() throws IOException {
        Path whole = root.resolve("logs");
        if (!Files.exists(own)) {
            Damage.copy(whole, own);
        }
        for (Path path : damaged) {
            Files.copy(whole.resolve(own.relativize(path)), path, StandardCopyOption.REPLACE_EXISTING);
        }
        damaged.clear();
    }

    private void damage(Random random) throws IOException {
        for (int i = random.nextInt(5); i >= 0; i--) {
            Path path = Damage.once(own, random);
            if (path != null) {
                damaged.add(path);
            }
        }
    }

    private void read(Random random, Map<String, String> options, Calls.Action before) throws Exception {
        ArrayNode filters = filters(random);
        Calls.answer(() -> Native.summarise(request(options, filters).toString()));
        Calls.answer(() -> Native.offsets(request(options, filters).toString()));
        int limit = random.nextInt(4) == 0 ? random.nextInt(100) : KafkastoreScanBuilder.NO_LIMIT;
        Scan scan = Calls.answer(() -> scan(random, options, filters, limit));
        if (scan == null) {
            return;
        }
        if (random.nextBoolean()) {
            before.run();
        }
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < scan.shares().size(); i++) {
            order.add(i);
        }
        Collections.shuffle(order, random);
        for (int share : order.subList(0, Math.min(MOST_SHARES, order.size()))) {
            if (random.nextInt(4) == 0) {
                before.run();
            }
            int most = random.nextInt(4) == 0 ? random.nextInt(3) : -1;
            if (random.nextInt(4) == 0) {
                Thread.currentThread().interrupt();
            }
            Calls.answer(() -> random.nextBoolean() ? asSpark(scan, share, random, most)
                : directly(scan, share, random, most));
            Thread.interrupted();
        }
    }

    // ---- one share

    /** Through the classes that Spark calls; closed whatever happens. Returns the rows. */
    static long asSpark(Scan scan, int share, Random random, int mostBatches) throws Exception {
        try (PartitionReader<ColumnarBatch> reader = scan.reader(share)) {
            long rows = 0;
            for (int i = 0; i != mostBatches && reader.next(); i++) {
                rows += BatchCheck.values(scan.columns(), reader.get());
            }
            if (random.nextInt(8) == 0) {
                reader.close();
            }
            return rows;
        }
    }

    /** Through the natives, so that addresses can be looked at. */
    static long directly(Scan scan, int share, Random random, int mostBatches) {
        int batchRows = 1 << random.nextInt(15);
        long handle = Native.open(scan.request(share, batchRows).toString());
        try {
            NativeVector[] vectors = scan.vectors();
            long[] places = scan.places();
            ColumnarBatch batch = new ColumnarBatch(vectors);
            long rows = 0;
            for (int i = 0; i != mostBatches; i++) {
                int found = Native.next(handle, places);
                if (found < 0) {
                    break;
                }
                Calls.require(found <= batchRows, "a batch of " + found + " rows, not " + batchRows);
                BatchCheck.addresses(scan.columns(), places, found);
                int at = 0;
                for (NativeVector vector : vectors) {
                    at = vector.point(places, at);
                }
                batch.setNumRows(found);
                rows += BatchCheck.values(scan.columns(), batch);
            }
            Json.parse(Native.lost(handle));
            return rows;
        } finally {
            Native.close(handle);
        }
    }

    // ---- plans

    ObjectNode request(Map<String, String> options, ArrayNode filters) {
        ObjectNode request = Json.object();
        ObjectNode given = request.putObject("options");
        options.forEach(given::put);
        request.set("filters", filters);
        return request.put("cores", 4);
    }

    /** As {@link Read} and {@link KafkastoreScan} plan, with some of the columns. */
    Scan scan(Random random, Map<String, String> options, ArrayNode filters, int limit) {
        Values values = Values.of(options);
        StructType columns = columns(random, values);
        JsonNode answer = Json.parse(Native.plan(request(options, filters).toString()));
        ObjectNode how = Json.object();
        how.set("scan", answer.get("scan"));
        how.set("checkCrcs", answer.get("checkCrcs"));
        how.set("failOnDataLoss", answer.get("failOnDataLoss"));
        List<KafkastoreScan.SharePartition> shares = new ArrayList<>();
        for (JsonNode share : answer.get("shares")) {
            List<String> splits = new ArrayList<>();
            share.get("splits").forEach(split -> splits.add(split.asText()));
            String lease = share.get("lease").isNull() ? null : share.get("lease").asText();
            shares.add(new KafkastoreScan.SharePartition(
                splits.toArray(new String[0]), how.toString(), new String[0], lease));
        }
        return new Scan(shares, columns, values, limit);
    }

    /** Some of the columns in any order, none at times; of a parsed value some of the fields. */
    private static StructType columns(Random random, Values values) {
        List<StructField> all = new ArrayList<>(List.of(Columns.all(true, values).fields()));
        all.addAll(List.of(Columns.SIZES.fields()));
        Collections.shuffle(all, random);
        List<StructField> some = new ArrayList<>();
        for (StructField field : all.subList(0, random.nextInt(all.size() + 1))) {
            DataType type = field.dataType();
            boolean isPruned = field.name().equals(Columns.VALUE) && type instanceof StructType && random.nextBoolean();
            some.add(isPruned ? new StructField(field.name(), pruned((StructType) type, random), field.nullable(),
                field.metadata()) : field);
        }
        return new StructType(some.toArray(new StructField[0]));
    }

    private static StructType pruned(StructType type, Random random) {
        List<StructField> kept = new ArrayList<>(List.of(type.fields()));
        kept.removeIf(field -> random.nextInt(3) == 0);
        return new StructType(kept.toArray(new StructField[0]));
    }

    Map<String, String> options(Random random, Path logs) {
        Map<String, String> options = new HashMap<>();
        String topic = TOPICS[random.nextInt(TOPICS.length)];
        options.put("path", logs.toString());
        switch (random.nextInt(6)) {
            case 0 -> options.put("subscribePattern", ".*s.*");
            case 1 -> options.put("subscribe", topic + "," + TOPICS[random.nextInt(TOPICS.length)]);
            default -> options.put("subscribe", topic);
        }
        if (random.nextBoolean()) {
            options.put("splitBytes", Integer.toString(1000 + random.nextInt(50_000)));
        }
        options.put("includeHeaders", "true");
        options.put("checkCrcs", Boolean.toString(random.nextInt(3) == 0));
        options.put("failOnDataLoss", Boolean.toString(random.nextInt(3) == 0));
        if (random.nextInt(3) == 0) {
            options.put("kafka.isolation.level", "read_committed");
        }
        if (random.nextInt(6) == 0 && topic.equals(options.get("subscribe")) && !topic.equals("old")) {
            String more = topic.equals("codecs") || topic.equals("transactions") ? ",\"1\":-2" : "";
            options.put("startingOffsets", "{\"" + topic + "\":{\"0\":" + random.nextInt(200) + more + "}}");
        }
        if (random.nextInt(5) < 3) {
            Formats.add(options, topic, root, random);
        }
        return options;
    }

    static ArrayNode filters(Random random) {
        ArrayNode filters = Json.array();
        String[] ops = {"EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual",
            "In", "IsNull", "IsNotNull", "other"};
        String[] columns = {"key", "value", "topic", "partition", "offset", "timestamp", "TIMESTAMPTYPE", "nothing"};
        for (int i = random.nextInt(6) - 3; i > 0; i--) {
            ObjectNode filter = filters.addObject();
            filter.put("column", columns[random.nextInt(columns.length)]);
            filter.put("op", ops[random.nextInt(ops.length)]);
            ArrayNode values = filter.putArray("values");
            for (int j = random.nextInt(3); j > 0; j--) {
                switch (random.nextInt(4)) {
                    case 0 -> values.add("a2V5LTE=");
                    case 1 -> values.add(random.nextInt(300));
                    case 2 -> values.add(random.nextLong());
                    default -> values.addNull();
                }
            }
        }
        return filters;
    }
}
