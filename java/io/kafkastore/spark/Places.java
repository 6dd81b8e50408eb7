package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * Where a stream is in each partition, as the checkpoints of Spark's Kafka source have it:
 * {@code {"topic":{"0":23,"1":-1}}}. So a query may go on with either source.
 */
final class Places extends Offset {
    private final Map<String, Map<Integer, Long>> places = new TreeMap<>();

    static Places parse(String json) {
        Places found = new Places();
        JsonNode topics = Json.parse(json);
        topics.fieldNames().forEachRemaining(topic -> topics.get(topic).fieldNames().forEachRemaining(
            partition -> found.put(topic, Integer.parseInt(partition), topics.get(topic).get(partition).asLong())));
        return found;
    }

    /** The ends of ranges, or their starts. */
    static Places of(JsonNode ranges, String field) {
        Places found = new Places();
        for (JsonNode range : ranges) {
            found.put(range.get("topic").asText(), range.get("partition").asInt(), range.get(field).asLong());
        }
        return found;
    }

    void put(String topic, int partition, long offset) {
        places.computeIfAbsent(topic, name -> new TreeMap<>()).put(partition, offset);
    }

    /** Null when the partition is not there. */
    Long get(String topic, int partition) {
        return places.getOrDefault(topic, Map.of()).get(partition);
    }

    /** What is done with each partition. */
    interface Visitor {
        void visit(String topic, int partition, long offset);
    }

    void forEach(Visitor visitor) {
        places.forEach((topic, partitions) -> partitions.forEach(
            (partition, offset) -> visitor.visit(topic, partition, offset)));
    }

    @Override
    public String json() {
        ObjectNode found = Json.object();
        places.forEach((topic, partitions) -> {
            ObjectNode node = found.putObject(topic);
            partitions.forEach((partition, offset) -> node.put(partition.toString(), offset));
        });
        return found.toString();
    }
}
