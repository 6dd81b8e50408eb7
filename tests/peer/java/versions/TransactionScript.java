import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
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
 * The answer has a text for each step, empty or the class and message of the exception. What not all versions
 * from 0.11 have is called by reflection: the group's metadata of an offset commit (2.5, KIP-447), the close and the
 * poll with a Duration (2.0), and what these took the place of (until 4.0).
 */
final class TransactionScript {
    private static final long POLL_MS = 100;
    private static final long LIMIT_MS = 30_000;

    private final JsonNode request;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    private TransactionScript(JsonNode request) {
        this.request = request;
    }

    static JsonNode run(JsonNode request) {
        ArrayNode answers = JsonNodeFactory.instance.arrayNode();
        TransactionScript script = new TransactionScript(request);
        try {
            request.get("steps").forEach(step -> answers.add(script.outcome(step)));
        } finally {
            script.producers.values().forEach(TransactionScript::closeAtOnce);
        }
        return answers;
    }

    private String outcome(JsonNode step) {
        try {
            run(step.get("verb").asText(), step);
            return "";
        } catch (ExecutionException | InvocationTargetException thrown) {
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
                    Thread.sleep(POLL_MS);
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
            consumer.subscribe(Collections.singletonList(step.get("topic").asText()));
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            List<ConsumerRecord<byte[], byte[]>> records = read(consumer, step.get("count").asInt());
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(
                    step.get("target").asText(), record.partition(), record.key(), record.value()));
                offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            sendOffsets(producer, offsets, consumer, step.get("group").asText());
            if (step.get("commits").asBoolean()) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(KafkaConsumer<byte[], byte[]> consumer, int count)
            throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (records.size() < count) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("only " + records.size() + " records after " + LIMIT_MS + " ms");
            }
            poll(consumer).forEach(record -> {
                if (records.size() < count) {
                    records.add(record);
                }
            });
        }
        return records;
    }

    // ---- what not all versions have
    private static void sendOffsets(KafkaProducer<byte[], byte[]> producer,
            Map<TopicPartition, OffsetAndMetadata> offsets, KafkaConsumer<byte[], byte[]> consumer, String group)
            throws Exception {
        Method groupMetadata = method(KafkaConsumer.class, "groupMetadata");
        if (groupMetadata == null) {
            method(KafkaProducer.class, "sendOffsetsToTransaction", Map.class, String.class)
                .invoke(producer, offsets, group);
        } else {
            method(KafkaProducer.class, "sendOffsetsToTransaction", Map.class, groupMetadata.getReturnType())
                .invoke(producer, offsets, groupMetadata.invoke(consumer));
        }
    }

    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        Method poll = method(KafkaConsumer.class, "poll", Duration.class);
        return (ConsumerRecords<byte[], byte[]>) (poll == null
            ? method(KafkaConsumer.class, "poll", long.class).invoke(consumer, POLL_MS)
            : poll.invoke(consumer, Duration.ofMillis(POLL_MS)));
    }

    private static void closeAtOnce(KafkaProducer<byte[], byte[]> producer) {
        try {
            Method close = method(KafkaProducer.class, "close", Duration.class);
            if (close == null) {
                method(KafkaProducer.class, "close", long.class, TimeUnit.class)
                    .invoke(producer, 0, TimeUnit.MILLISECONDS);
            } else {
                close.invoke(producer, Duration.ZERO);
            }
        } catch (ReflectiveOperationException thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    /** null: the class has no such method. */
    private static Method method(Class<?> owner, String name, Class<?>... parameters) {
        try {
            return owner.getMethod(name, parameters);
        } catch (NoSuchMethodException thrown) {
            return null;
        }
    }
}
