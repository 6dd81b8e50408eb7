import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Kafka's producer of 0.8.2: {@code produce <bootstrap> <topic> <codec> <values...>} prints an offset a line. */
public final class OldClient {
    private OldClient() {}

    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[1]);
        config.put("acks", "all");
        config.put("linger.ms", "50");
        config.put("compression.type", arguments[3]);
        config.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        config.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        KafkaProducer<String, String> producer = new KafkaProducer<String, String>(config);
        List<Future<RecordMetadata>> sent = new ArrayList<Future<RecordMetadata>>();
        for (int i = 4; i < arguments.length; i++) {
            sent.add(producer.send(new ProducerRecord<String, String>(arguments[2], 0, "old", arguments[i])));
        }
        for (Future<RecordMetadata> one : sent) {
            System.out.println(one.get().offset());
        }
        producer.close();
    }
}
