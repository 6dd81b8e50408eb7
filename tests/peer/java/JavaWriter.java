import java.io.PrintStream;
import java.util.Properties;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * An idempotent producer with acks=all that sends numbered records until its input ends.
 *
 * Arguments: bootstrap servers, topic, partitions, records in flight at most. It prints a line for each record: `number
 * partition offset`, or `number error: what`; and `end` with how many were sent.
 */
final class JavaWriter {
    private static final int LIMIT_MS = 120_000;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        Semaphore room = new Semaphore(Integer.parseInt(arguments[3]));
        PrintStream out = new PrintStream(System.out, false);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("acks", "all");
        config.put("enable.idempotence", "true");
        config.put("linger.ms", "1");
        config.put("batch.size", "400");
        config.put("retry.backoff.ms", "20");
        config.put("reconnect.backoff.max.ms", "200");
        config.put("delivery.timeout.ms", Integer.toString(LIMIT_MS));
        config.put("max.block.ms", Integer.toString(LIMIT_MS));
        long number = 0;
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (System.in.available() == 0) {
                room.acquire();
                long id = number++;
                byte[] value = String.format("java-%d.%150s", id, "").getBytes();
                producer.send(new ProducerRecord<>(topic, (int) (id % partitions), null, value), (metadata, error) -> {
                    synchronized (out) {
                        out.println(error == null
                                ? id + " " + metadata.partition() + " " + metadata.offset()
                                : id + " error: " + error);
                    }
                    room.release();
                });
            }
        }
        out.println("end " + number);
        out.flush();
    }

    private JavaWriter() { }
}
