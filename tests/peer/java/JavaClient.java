import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own clients as calls with plain data in and out. A record is
 * {@code [partition or null, timestamp or null, key, value, [[header name, header value], ...]]}, bytes as base64,
 * null as null.
 */
final class JavaClient {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long LIMIT_MS = 60_000;
    /** Producers whose transaction was left open; the process that started us ends them with this JVM. */
    private static final List<KafkaProducer<byte[], byte[]>> OPEN = new ArrayList<>();

    static ObjectNode run(JsonNode request) {
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        try {
            answer.set("result", call(request));
        } catch (Throwable thrown) {
            boolean isWrapped = thrown instanceof ExecutionException && thrown.getCause() != null;
            Throwable cause = isWrapped ? thrown.getCause() : thrown;
            answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
        return answer;
    }

    private static JsonNode call(JsonNode request) throws Exception {
        String name = request.get("call").asText();
        switch (name) {
            case "produce": return produce(request);
            case "consume": return consume(request);
            case "consumeInGroup": return consumeInGroup(request);
            case "readFromRack": return JavaRack.read(request);
            case "transactions": return TransactionScript.run(request);
            case "rebalance": return JavaGroup.rebalance(request);
            case "setProperty": {
                System.setProperty(request.get("name").asText(), request.get("value").asText());
                return JsonNodeFactory.instance.nullNode();
            }
            default: return JavaAdmin.call(name, request);
        }
    }

    static Map<String, Object> config(JsonNode request) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", request.get("bootstrap").asText());
        request.path("config").fields()
            .forEachRemaining(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        return config;
    }

    private static byte[] bytes(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static JsonNode text(byte[] bytes) {
        return bytes == null ? JsonNodeFactory.instance.nullNode()
            : JsonNodeFactory.instance.textNode(Base64.getEncoder().encodeToString(bytes));
    }

    /**
     * Produces `records` to `topic`; `transaction` is absent, "commit", "abort" or "open". Returns
     * [[partition, offset], ...].
     */
    private static JsonNode produce(JsonNode request) throws Exception {
        String topic = request.get("topic").asText();
        String transaction = request.path("transaction").asText("");
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(config(request), new ByteArraySerializer(), new ByteArraySerializer());
        try {
            if (!transaction.isEmpty()) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode record : request.get("records")) {
                sent.add(producer.send(producerRecord(topic, record)));
            }
            producer.flush();
            ArrayNode offsets = JsonNodeFactory.instance.arrayNode();
            for (Future<RecordMetadata> future : sent) {
                RecordMetadata metadata = future.get();
                offsets.addArray().add(metadata.partition()).add(metadata.hasOffset() ? metadata.offset() : -1);
            }
            if (transaction.equals("commit")) {
                producer.commitTransaction();
            } else if (transaction.equals("abort")) {
                producer.abortTransaction();
            }
            return offsets;
        } finally {
            if (transaction.equals("open")) {
                OPEN.add(producer);
            } else {
                producer.close(Duration.ofSeconds(5));
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> producerRecord(String topic, JsonNode record) {
        List<Header> headers = new ArrayList<>();
        record.path(4).forEach(header -> headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1)))));
        Integer partition = record.get(0).isNull() ? null : record.get(0).asInt();
        Long timestamp = record.get(1).isNull() ? null : record.get(1).asLong();
        return new ProducerRecord<>(topic, partition, timestamp, bytes(record.get(2)), bytes(record.get(3)), headers);
    }

    private static ObjectNode describe(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("partition", record.partition()).put("offset", record.offset()).put("timestamp", record.timestamp());
        node.put("timestamp_type", record.timestampType().name);
        node.set("key", text(record.key()));
        node.set("value", text(record.value()));
        ArrayNode headers = node.putArray("headers");
        record.headers().forEach(header -> headers.addArray().add(header.key()).add(text(header.value())));
        return node;
    }

    private static KafkaConsumer<byte[], byte[]> consumer(JsonNode request) {
        return new KafkaConsumer<>(config(request), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Reads `topic` to its end, without a group: from the beginning, `from_timestamp` or `from_offset`. */
    private static JsonNode consume(JsonNode request) {
        ArrayNode records = JsonNodeFactory.instance.arrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(request)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(request.get("topic").asText())
                .forEach(info -> partitions.add(new TopicPartition(info.topic(), info.partition())));
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.seekToBeginning(partitions);
            if (request.has("from_offset")) {
                partitions.forEach(partition -> consumer.seek(partition, request.get("from_offset").asLong()));
            } else if (request.has("from_timestamp")) {
                Map<TopicPartition, Long> times = new HashMap<>();
                partitions.forEach(partition -> times.put(partition, request.get("from_timestamp").asLong()));
                Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(times);
                partitions.forEach(partition -> consumer.seek(
                    partition, found.get(partition) == null ? ends.get(partition) : found.get(partition).offset()));
            }
            long deadline = System.currentTimeMillis() + LIMIT_MS;
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.currentTimeMillis() > deadline) {
                    String reached = records.size() + " records";
                    throw new IllegalStateException("not at the end after " + LIMIT_MS + " ms: " + reached);
                }
                consumer.poll(POLL).forEach(record -> records.add(describe(record)));
            }
        }
        return records;
    }

    /** As a member of `group.id`: reads until `count` records came, commits exactly those, leaves. */
    private static JsonNode consumeInGroup(JsonNode request) {
        int count = request.get("count").asInt();
        ArrayNode records = JsonNodeFactory.instance.arrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(request)) {
            consumer.subscribe(List.of(request.get("topic").asText()));
            long deadline = System.currentTimeMillis() + LIMIT_MS;
            while (records.size() < count) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("only " + records.size() + " records after " + LIMIT_MS + " ms");
                }
                consumer.poll(POLL).forEach(record -> records.add(describe(record)));
            }
            consumer.commitSync();
        }
        return records;
    }

    private JavaClient() { }
}
