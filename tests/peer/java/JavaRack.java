import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer that tells from which brokers its bytes came, by the client's own metrics (KIP-392). */
final class JavaRack {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long LIMIT_MS = 60_000;

    /**
     * Reads partition 0 of `topic` from its beginning until it has `count` records; makes the file `sign` after
     * `sign_after`.
     */
    static JsonNode read(JsonNode request) throws Exception {
        int count = request.get("count").asInt();
        int signAfter = request.get("sign_after").asInt();
        Path sign = Path.of(request.get("sign").asText());
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ArrayNode offsets = answer.putArray("offsets");
        TopicPartition partition = new TopicPartition(request.get("topic").asText(), 0);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(
                    JavaClient.config(request), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.currentTimeMillis() + LIMIT_MS;
            while (offsets.size() < count) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("only " + offsets.size() + " records after " + LIMIT_MS + " ms");
                }
                consumer.poll(POLL).forEach(record -> offsets.add(record.offset()));
                if (offsets.size() >= signAfter && Files.notExists(sign)) {
                    Files.createFile(sign);
                }
            }
            answer.set("bytes", bytesByNode(consumer));
        }
        return answer;
    }

    private static ObjectNode bytesByNode(KafkaConsumer<byte[], byte[]> consumer) {
        ObjectNode bytes = JsonNodeFactory.instance.objectNode();
        consumer.metrics().forEach((name, metric) -> {
            if (name.group().equals("consumer-node-metrics") && name.name().equals("incoming-byte-total")) {
                bytes.put(name.tags().get("node-id"), ((Number) metric.metricValue()).longValue());
            }
        });
        return bytes;
    }

    private JavaRack() { }
}
