package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;

/**
 * Requests that are wrong: as values (other types, extremes, missing and doubled fields, nesting), as text (cut,
 * exchanged and odd characters), and null. Names of folders that a call would write to or remove, and of servers, are
 * left as they are.
 */
final class Requests {
    private static final Set<String> KEPT = Set.of("folder", "linkDir", "link", "kafka.bootstrap.servers",
        "schemaRegistryUrl", "valueSchemaFile", "remote");
    private static final String[] ODD_TEXTS = {"", " ", "\0", "a\0b", "\ud800", "\udc00x", "\ud83d\ude00", "\uffff",
        "\u0080\u07ff", "-1", "9223372036854775808", "1e400", "NaN", "true", "null", "{", "[", "\"", "\\", "{}", "[]",
        "%s%n", "../..", "latest", "earliest", "(((((", "[[:x:]]", ".*", "STRUCT<", "A STRUCT<B: ARRAY<C", "json",
        "avro", "protobuf", "confluent", "+18:01", "Europe/Paris"};
    private static final Object[] ODD_NUMBERS = {0L, -1L, 1L, 2147483647L, 2147483648L, -2147483649L, Long.MAX_VALUE,
        Long.MIN_VALUE, 1.5, 1e300, -0.0};
    private static final int HUGE = 1 << 20;

    private final Reads reads;

    Requests(Reads reads) {
        this.reads = reads;
    }

    void run(Random random) throws Exception {
        switch (random.nextInt(8)) {
            case 0 -> open(random);
            case 1 -> split(random);
            case 2 -> schema(random);
            case 3 -> anything(random);
            default -> plan(random);
        }
    }

    private void plan(Random random) throws Exception {
        Map<String, String> options = reads.options(random, Path.of("logs"));
        if (random.nextInt(4) == 0) {
            String[] names = {"startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp", "assign",
                "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "subscribe", "subscribePattern",
                "minPartitions", "splitBytes", "kafka.isolation.level", "startingOffsetsByTimestampStrategy"};
            String[] values = {"{\"json\":{\"0\":5}}", "{\"codecs\":{\"0\":-2,\"1\":-1}}", "1700000000000", "latest",
                "earliest", "{\"json\":[0]}", "0", "-9223372036854775808", "read_committed", "{\"codecs\":[0,1,7]}"};
            options.put(names[random.nextInt(names.length)], values[random.nextInt(values.length)]);
        }
        if (random.nextInt(6) == 0) {
            options.put("linkDir", "links");
        }
        ObjectNode request = reads.request(options, Reads.filters(random));
        ArrayNode names = request.putArray("columns");
        names.add("key").add("offset");
        String text = broken(request, random);
        Function<String, Object> call = switch (random.nextInt(5)) {
            case 0 -> Native::offsets;
            case 1 -> Native::summarise;
            case 2 -> Native::push;
            case 3 -> Native::schema;
            default -> Native::plan;
        };
        Object answer = Calls.answer(() -> call.apply(text));
        if (answer != null) {
            release(Json.parse((String) answer), random);
        }
    }

    /** The links of a plan that is not read: each share's part is ended once, twice or never. */
    private static void release(JsonNode answer, Random random) throws Exception {
        for (JsonNode share : answer.path("shares")) {
            JsonNode lease = share.path("lease");
            for (int i = lease.isTextual() ? random.nextInt(3) : 0; i > 0; i--) {
                String text = i == 1 ? lease.asText() : broken(Json.parse(lease.asText()), random);
                Calls.done(() -> Native.release(text));
            }
        }
    }

    private Reads.Scan scan(Random random) throws Exception {
        Map<String, String> options = reads.options(random, Path.of("logs"));
        return Calls.answer(() -> reads.scan(random, options, Json.array(), KafkastoreScanBuilder.NO_LIMIT));
    }

    /** A request to open that is broken; what it opens is read. */
    private void open(Random random) throws Exception {
        Reads.Scan scan = scan(random);
        if (scan != null && !scan.shares().isEmpty()) {
            read(scan, broken(scan.request(0, 1 << random.nextInt(15)), random), random);
        }
    }

    /** A share as an executor gets it, with a broken split. */
    private void split(Random random) throws Exception {
        Reads.Scan scan = scan(random);
        if (scan == null || scan.shares().isEmpty()) {
            return;
        }
        ObjectNode request = scan.request(0, 1000);
        ArrayNode splits = (ArrayNode) request.get("splits");
        int at = random.nextInt(splits.size());
        splits.set(at, splits.textNode(broken(Json.parse(splits.get(at).asText()), random)));
        read(scan, request.toString(), random);
    }

    private static void read(Reads.Scan scan, String request, Random random) throws Exception {
        Long handle = Calls.answer(() -> Native.open(request));
        if (handle == null) {
            return;
        }
        // a broken request may have other columns, which other numbers need
        long[] places = new long[random.nextInt(4) == 0 ? random.nextInt(8) : 400];
        for (int i = 0; i < 20; i++) {
            Integer rows = Calls.answer(() -> Native.next(handle, places));
            if (rows == null || rows < 0) {
                break;
            }
        }
        Calls.answer(() -> Native.lost(handle));
        Calls.require(Calls.done(() -> Native.close(handle)), "a reader was not closed");
    }

    private void schema(Random random) throws Exception {
        Map<String, String> options = new HashMap<>();
        Formats.add(options, Reads.TOPICS[random.nextInt(Reads.TOPICS.length)], reads.root(), random);
        switch (random.nextInt(5)) {
            case 0 -> {
                options.remove("valueSchemaFile"); // of the two only one may be given
                options.put("valueSchema", nested(random));
            }
            case 1 -> options.put("valueSchema", brokenText(Formats.JSON_SCHEMA, random));
            case 2 -> options.put("sep", ODD_TEXTS[random.nextInt(ODD_TEXTS.length)]);
            default -> { }
        }
        ObjectNode request = Json.object();
        ObjectNode given = request.putObject("options");
        options.forEach(given::put);
        String text = random.nextBoolean() ? request.toString() : broken(request, random);
        Calls.answer(() -> Native.schema(text));
    }

    /** A schema that is nested deep, in one of the languages of schemas. */
    private static String nested(Random random) {
        int depth = 1 << random.nextInt(18);
        return switch (random.nextInt(5)) {
            case 4 -> named(Math.min(depth, 4096), random.nextInt(4) == 0 ? 2 : 1);
            case 0 -> "a " + "ARRAY<".repeat(depth) + "INT" + ">".repeat(depth);
            case 1 -> "a " + "STRUCT<b: ".repeat(depth) + "INT" + ">".repeat(depth);
            case 2 -> "{\"type\":\"array\",\"items\":".repeat(depth) + "\"int\"" + "}".repeat(depth);
            default -> "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"nullable\":true,\"metadata\":{},\"type\":"
                .repeat(depth) + "\"integer\"" + "}]}".repeat(depth);
        };
    }

    /** An Avro schema of types that are fields of the next one, once or more often. */
    private static String named(int count, int uses) {
        StringBuilder text = new StringBuilder("{\"type\":\"record\",\"name\":\"a\",\"fields\":[")
            .append("{\"name\":\"f\",\"type\":{\"type\":\"record\",\"name\":\"R0\",\"fields\":[")
            .append("{\"name\":\"a\",\"type\":\"int\"}]}}");
        for (int i = 1; i <= count; i++) {
            text.append(",{\"name\":\"f" + i + "\",\"type\":{\"type\":\"record\",\"name\":\"R" + i)
                .append("\",\"fields\":[");
            for (int use = 0; use < uses; use++) {
                text.append((use == 0 ? "" : ",") + "{\"name\":\"x" + use + "\",\"type\":\"R" + (i - 1) + "\"}");
            }
            text.append("]}}");
        }
        return text.append("]}").toString();
    }

    /** Any call with any text. */
    private void anything(Random random) throws Exception {
        String text = switch (random.nextInt(5)) {
            case 0 -> null;
            case 1 -> ODD_TEXTS[random.nextInt(ODD_TEXTS.length)];
            case 2 -> "[".repeat(1 << random.nextInt(20));
            case 3 -> "{\"options\":{\"path\":\"" + "x".repeat(1 << random.nextInt(22)) + "\",\"subscribe\":7}}";
            default -> characters(random, random.nextInt(200));
        };
        List<Calls.Action> calls = new ArrayList<>(List.of(() -> Native.plan(text), () -> Native.offsets(text),
            () -> Native.schema(text), () -> Native.push(text), () -> Native.summarise(text), () -> Native.open(text),
            () -> Native.release(text), () -> NativeProducer.check(text), () -> NativeProducer.begin(text),
            () -> NativeProducer.commit(text), () -> NativeProducer.abort(text), () -> NativeProducer.open(text),
            () -> NativeLoad.open(text)));
        Calls.refused("a request that is none", calls.get(random.nextInt(calls.size())));
    }

    // ---- breaking

    /** The request as text, broken in one to four places. */
    static String broken(JsonNode request, Random random) {
        String text = brokenInside(request, random).toString();
        boolean namesPlaces = KEPT.stream().anyMatch(text::contains);
        return namesPlaces || random.nextInt(3) != 0 ? text : brokenText(text, random);
    }

    /** A copy with one to four nodes changed. */
    static <T extends JsonNode> T brokenInside(T request, Random random) {
        T copy = request.deepCopy();
        for (int i = random.nextInt(4); i >= 0; i--) {
            inside(copy, random);
        }
        return copy;
    }

    /** Changes a node somewhere within. */
    private static void inside(JsonNode node, Random random) {
        if (node instanceof ObjectNode object && !object.isEmpty()) {
            List<String> names = new ArrayList<>();
            object.fieldNames().forEachRemaining(names::add);
            String name = names.get(random.nextInt(names.size()));
            JsonNode child = object.get(name);
            if (KEPT.contains(name)) {
                return;
            }
            if (child.isContainerNode() && !child.isEmpty() && random.nextInt(6) != 0) {
                inside(child, random);
            } else if (random.nextInt(5) == 0) {
                object.remove(name);
            } else {
                object.set(random.nextInt(8) == 0 ? names.get(random.nextInt(names.size())) : name,
                    other(child, random));
            }
        } else if (node instanceof ArrayNode array && !array.isEmpty()) {
            int at = random.nextInt(array.size());
            if (array.get(at).isContainerNode() && random.nextInt(6) != 0) {
                inside(array.get(at), random);
            } else if (random.nextInt(4) == 0) {
                array.remove(at);
            } else if (random.nextInt(4) == 0) {
                array.add(array.get(at));
            } else {
                array.set(at, other(array.get(at), random));
            }
        }
    }

    private static JsonNode other(JsonNode node, Random random) {
        ArrayNode holder = Json.array();
        switch (random.nextInt(9)) {
            case 0 -> holder.addNull();
            case 1 -> holder.add(random.nextBoolean());
            case 2 -> holder.addArray().add(1);
            case 3 -> holder.addObject().put("a", 1);
            case 4, 5 -> {
                Object number = ODD_NUMBERS[random.nextInt(ODD_NUMBERS.length)];
                if (number instanceof Long whole) {
                    holder.add(whole);
                } else {
                    holder.add((Double) number);
                }
            }
            case 6 -> holder.add(ODD_TEXTS[random.nextInt(ODD_TEXTS.length)]);
            case 7 -> holder.add(random.nextInt(20) == 0 ? "x".repeat(HUGE) : brokenText(node.asText(), random));
            default -> holder.add(node.isTextual() ? Integer.toString(random.nextInt()) : node.asText());
        }
        return holder.get(0);
    }

    private static String brokenText(String text, Random random) {
        StringBuilder found = new StringBuilder(text);
        for (int i = random.nextInt(3); i >= 0; i--) {
            int at = random.nextInt(found.length() + 1);
            int end = Math.min(found.length(), at + random.nextInt(8));
            switch (random.nextInt(4)) {
                case 0 -> found.delete(at, end);
                case 1 -> found.insert(at, ODD_TEXTS[random.nextInt(ODD_TEXTS.length)]);
                case 2 -> found.replace(at, end, characters(random, random.nextInt(5)));
                default -> found.setLength(random.nextInt(4) == 0 ? at : found.length());
            }
        }
        return found.toString();
    }

    /** Characters of every kind, halves of surrogate pairs among them. */
    private static String characters(Random random, int count) {
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < count; i++) {
            found.append((char) (random.nextBoolean() ? random.nextInt(128) : random.nextInt(1 << 16)));
        }
        return found.toString();
    }
}
