package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.InputPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a query wants: the options of its read and the filters that the scan applies. */
final class Read {
    private static final Logger LOG = LoggerFactory.getLogger(Read.class);

    private final Map<String, String> options;
    private final ArrayNode filters;
    private final int cores;

    Read(Map<String, String> options, ArrayNode filters) {
        this(options, filters, SparkSession.active().sparkContext().defaultParallelism());
    }

    private Read(Map<String, String> options, ArrayNode filters, int cores) {
        this.options = options;
        this.filters = filters;
        this.cores = cores;
    }

    /** A read that one task plans for itself alone. */
    static Read inTask(Map<String, String> options, ArrayNode filters) {
        return new Read(options, filters, 1);
    }

    /** One task's share of a plan; hosts that have its files; its part in the lease on links, or null. */
    record Share(String[] splits, String[] hosts, String lease) { }

    /** A plan: ranges of offsets that do not move while tasks run. */
    record Plan(List<Share> shares, long sizeBytes, String ranges, ObjectNode scan) {
        /** What Spark gives to the tasks. */
        InputPartition[] partitions() {
            String how = scan.toString();
            return shares.stream()
                .map(share -> new KafkastoreScan.SharePartition(share.splits(), how, share.hosts(), share.lease()))
                .toArray(InputPartition[]::new);
        }
    }

    Plan plan() {
        JsonNode answer = Json.parse(Native.plan(request().toString()));
        answer.path("warnings").forEach(warning -> LOG.warn("{}", warning.asText()));
        List<Share> shares = new ArrayList<>();
        for (JsonNode share : answer.get("shares")) {
            JsonNode lease = share.get("lease");
            shares.add(new Share(
                texts(share.get("splits")), texts(share.get("hosts")), lease.isNull() ? null : lease.asText()));
        }
        ObjectNode scan = Json.object();
        scan.set("scan", answer.get("scan"));
        scan.set("checkCrcs", answer.get("checkCrcs"));
        scan.set("failOnDataLoss", answer.get("failOnDataLoss"));
        scan.set("ignoreCorruptBatches", answer.get("ignoreCorruptBatches"));
        return new Plan(shares, answer.get("sizeBytes").asLong(), ranges(answer.get("ranges")), scan);
    }

    /** Every partition, empty ones too, with the offsets from which and up to which it can be read now. */
    JsonNode offsets() {
        return Json.parse(Native.offsets(request().toString())).get("partitions");
    }

    /** A row for each partition; empty when the headers of some partition are not in files that are seen here. */
    Optional<List<JsonNode>> summarise() {
        JsonNode partitions = Json.parse(Native.summarise(request().toString())).get("partitions");
        if (partitions.isNull()) {
            return Optional.empty();
        }
        List<JsonNode> found = new ArrayList<>();
        partitions.forEach(found::add);
        return Optional.of(found);
    }

    private static String[] texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        array.forEach(text -> found.add(text.asText()));
        return found.toArray(new String[0]);
    }

    private ObjectNode request() {
        ObjectNode request = Json.object();
        ObjectNode given = request.putObject("options");
        options.forEach(given::put);
        request.set("filters", filters);
        request.put("cores", cores);
        return request;
    }

    /**
     * {@code topic-partition [start, end) files}, or {@code network} where the driver sees no files, for the
     * description of a query's plan.
     */
    private static String ranges(JsonNode ranges) {
        List<String> found = new ArrayList<>();
        for (JsonNode range : ranges) {
            found.add(range.get("topic").asText() + "-" + range.get("partition").asInt() + " ["
                + range.get("startOffset").asLong() + ", " + range.get("endOffset").asLong() + ") "
                + range.get("way").asText());
        }
        return String.join(", ", found);
    }
}
