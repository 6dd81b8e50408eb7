import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Runs a script of transactions: an array of steps, each with a `verb` and the name of the `producer` that does it.
 * The answer has a text for each step, empty or the class and message of the exception.
 */
final class JavaTransactions {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long LIMIT_MS = 30_000;

    private final JsonNode request;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    private JavaTransactions(JsonNode request) {
        this.request = request;
    }

    static JsonNode run(JsonNode request) {
        ArrayNode answers = JsonNodeFactory.instance.arrayNode();
        JavaTransactions script = new JavaTransactions(request);
        try {
            request.get("steps").forEach(step -> answers.add(script.outcome(step)));
        } finally {
            script.producers.values().forEach(producer -> producer.close(Duration.ZERO));
        }
        return answers;
    }

    /** Aborts the transaction of `transactional_id` and fences its producer. */
    static JsonNode end(Admin admin, JsonNode request, boolean isFence) throws Exception {
        String id = request.get("transactional_id").asText();
        if (isFence) {
            admin.fenceProducers(List.of(id)).all().get();
        } else {
            admin.forceTerminateTransaction(id).result().get();
        }
        return JsonNodeFactory.instance.nullNode();
    }

    private String outcome(JsonNode step) {
        try {
            run(step.get("verb").asText(), step);
            return "";
        } catch (ExecutionException thrown) {
            return String.valueOf(thrown.getCause());
        } catch (Exception thrown) {
            return thrown.toString();
        }
    }

    private void run(String verb, JsonNode step) throws Exception {
        String name = step.get("producer").asText();
        switch (verb) {
            case "init":
                ByteArraySerializer bytes = new ByteArraySerializer();
                producers.put(name, new KafkaProducer<>(config(), bytes, bytes));
                producers.get(name).initTransactions();
                break;
            case "begin": producers.get(name).beginTransaction(); break;
            case "send": send(producers.get(name), step); break;
            case "send_until_refused":
                for (long start = System.currentTimeMillis(); System.currentTimeMillis() < start + LIMIT_MS; ) {
                    send(producers.get(name), step);
                    Thread.sleep(POLL.toMillis());
                }
                break;
            case "commit": producers.get(name).commitTransaction(); break;
            case "abort": producers.get(name).abortTransaction(); break;
            case "copy": copy(step); break;
            default: throw new IllegalArgumentException("no such verb: " + verb);
        }
    }

    private Properties config() {
        Properties config = new Properties();
        config.put("bootstrap.servers", request.get("bootstrap").asText());
        config.put("transactional.id", request.get("transactional_id").asText());
        config.put("transaction.timeout.ms", request.get("timeout_ms").asText());
        config.put("max.block.ms", Long.toString(LIMIT_MS));
        return config;
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, JsonNode step) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : step.get("records")) {
            byte[] value = record.get(1).asText().getBytes(StandardCharsets.UTF_8);
            sent.add(producer.send(
                new ProducerRecord<>(step.get("topic").asText(), record.get(0).asInt(), null, value)));
        }
        producer.flush();
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
    }

    /** Reads `count` records of `topic` as a member of `group` and writes them to `target` in one transaction. */
    private void copy(JsonNode step) throws Exception {
        Map<String, Object> reading = new HashMap<>();
        reading.put("bootstrap.servers", request.get("bootstrap").asText());
        reading.put("group.id", step.get("group").asText());
        reading.put("auto.offset.reset", "earliest");
        reading.put("enable.auto.commit", "false");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", step.get("count").asText());
        KafkaProducer<byte[], byte[]> producer = producers.get(step.get("producer").asText());
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(step.get("topic").asText()));
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            List<ConsumerRecord<byte[], byte[]>> records = read(consumer, step.get("count").asInt());
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(
                    step.get("target").asText(), record.partition(), record.key(), record.value()));
                offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            ConsumerGroupMetadata metadata = consumer.groupMetadata();
            producer.sendOffsetsToTransaction(offsets, metadata);
            if (step.get("commits").asBoolean()) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(KafkaConsumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (records.size() < count) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("only " + records.size() + " records after " + LIMIT_MS + " ms");
            }
            consumer.poll(POLL).forEach(record -> {
                if (records.size() < count) {
                    records.add(record);
                }
            });
        }
        return records;
    }
}
