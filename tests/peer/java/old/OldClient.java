import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's producer and consumer of 0.9 and 0.10: {@code produce <bootstrap> <topic> <codec> <values...>} prints an
 * offset a line; {@code read <bootstrap> <topic> <group> <count>} joins the group, prints offset and value of that many
 * records, commits, and prints the committed offset.
 */
public final class OldClient {
    private static final long LIMIT_MS = 60_000;

    private OldClient() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("produce")) {
            produce(arguments);
        } else {
            read(arguments);
        }
    }

    private static void produce(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[1]);
        config.put("acks", "all");
        config.put("linger.ms", "50");
        config.put("compression.type", arguments[3]);
        config.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        config.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 4; i < arguments.length; i++) {
                sent.add(producer.send(new ProducerRecord<>(arguments[2], 0, "old", arguments[i])));
            }
            for (Future<RecordMetadata> one : sent) {
                System.out.println(one.get().offset());
            }
        }
    }

    private static void read(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[1]);
        config.put("group.id", arguments[3]);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        int left = Integer.parseInt(arguments[4]);
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        TopicPartition partition = new TopicPartition(arguments[2], 0);
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(Arrays.asList(arguments[2]));
            while (left > 0) {
                for (ConsumerRecord<String, String> record : consumer.poll(100)) {
                    System.out.println(record.offset() + " " + record.value());
                    left--;
                }
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException(left + " records did not come");
                }
            }
            consumer.commitSync();
            System.out.println("committed " + consumer.committed(partition).offset());
        }
    }
}
