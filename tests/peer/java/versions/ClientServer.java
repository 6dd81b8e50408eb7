import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Calls of a Java client of any version from 0.11 to 3.9, one after the other: a JSON object a line in, one a line out.
 * It is compiled against 0.11 and runs with the jars of the version that is tested.
 */
public final class ClientServer {
    private static final long POLL_MS = 200;
    private static final long LIMIT_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer = JsonNodeFactory.instance.objectNode();
            try {
                answer.set("result", call(json.readTree(line)));
            } catch (Exception thrown) {
                answer.put("error", thrown.toString());
            }
            answers.println(json.writeValueAsString(answer));
            answers.flush();
        }
    }

    private static JsonNode call(JsonNode request) {
        String name = request.get("call").asText();
        switch (name) {
            case "transactions": return TransactionScript.run(request);
            case "consume": return consume(request);
            default: throw new IllegalArgumentException("no such call: " + name);
        }
    }

    /** Reads `topic` from its beginning to its end as `isolation` shows it: [[partition, offset, value], ...]. */
    private static JsonNode consume(JsonNode request) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", request.get("bootstrap").asText());
        config.put("isolation.level", request.get("isolation").asText());
        config.put("auto.offset.reset", "earliest");
        config.put("fetch.max.wait.ms", "20");
        config.put("enable.auto.commit", "false");
        ArrayNode records = JsonNodeFactory.instance.arrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(request.get("topic").asText())
                .forEach(info -> partitions.add(new TopicPartition(info.topic(), info.partition())));
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.currentTimeMillis() + LIMIT_MS;
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.currentTimeMillis() > deadline) {
                    String reached = records.size() + " records";
                    throw new IllegalStateException("not at the end after " + LIMIT_MS + " ms: " + reached);
                }
                consumer.poll(POLL_MS).forEach(record -> records.addArray().add(record.partition())
                    .add(record.offset()).add(new String(record.value(), StandardCharsets.UTF_8)));
            }
        }
        return records;
    }

    private ClientServer() { }
}
