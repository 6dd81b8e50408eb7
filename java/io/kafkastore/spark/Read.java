package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.InputPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a query wants: the options of its read and the filters that the scan applies. */
final class Read {
    private static final Logger LOG = LoggerFactory.getLogger(Read.class);

    private final Map<String, String> options;
    private final ArrayNode filters;

    Read(Map<String, String> options, ArrayNode filters) {
        this.options = options;
        this.filters = filters;
    }

    /** One task's part of a plan; its part in the lease on links, or null. */
    record Share(String[] splits, String lease) { }

    /** A plan: ranges of offsets that do not move while tasks run. */
    record Plan(List<Share> shares, long sizeBytes, String ranges, ObjectNode scan) {
        /** What Spark gives to the tasks. */
        InputPartition[] partitions() {
            String how = scan.toString();
            return shares.stream()
                .map(share -> new KafkastoreScan.SharePartition(share.splits(), how, share.lease()))
                .toArray(InputPartition[]::new);
        }
    }

    Plan plan() {
        JsonNode answer = Json.parse(Native.plan(request().toString()));
        answer.path("warnings").forEach(warning -> LOG.warn("{}", warning.asText()));
        List<Share> shares = new ArrayList<>();
        for (JsonNode share : answer.get("shares")) {
            List<String> splits = new ArrayList<>();
            share.get("splits").forEach(split -> splits.add(split.asText()));
            JsonNode lease = share.get("lease");
            shares.add(new Share(splits.toArray(new String[0]), lease.isNull() ? null : lease.asText()));
        }
        ObjectNode scan = Json.object();
        scan.set("scan", answer.get("scan"));
        scan.set("checkCrcs", answer.get("checkCrcs"));
        scan.set("failOnDataLoss", answer.get("failOnDataLoss"));
        return new Plan(shares, answer.get("sizeBytes").asLong(), ranges(answer.get("ranges")), scan);
    }

    /** Every partition, empty ones too, with the offsets from which and up to which it can be read now. */
    JsonNode offsets() {
        return Json.parse(Native.offsets(request().toString())).get("partitions");
    }

    /** A row for each partition that has records. */
    List<JsonNode> summarise() {
        List<JsonNode> found = new ArrayList<>();
        Json.parse(Native.summarise(request().toString())).get("partitions").forEach(found::add);
        return found;
    }

    private ObjectNode request() {
        ObjectNode request = Json.object();
        ObjectNode given = request.putObject("options");
        options.forEach(given::put);
        request.set("filters", filters);
        request.put("cores", SparkSession.active().sparkContext().defaultParallelism());
        return request;
    }

    /** {@code topic-partition [start, end)}, for the description of a query's plan. */
    private static String ranges(JsonNode ranges) {
        List<String> found = new ArrayList<>();
        for (JsonNode range : ranges) {
            found.add(range.get("topic").asText() + "-" + range.get("partition").asInt() + " ["
                + range.get("startOffset").asLong() + ", " + range.get("endOffset").asLong() + ")");
        }
        return String.join(", ", found);
    }
}
