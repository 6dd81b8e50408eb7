import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/** Brokers of spring-kafka-test, one after another, as `kfake/main.go` has them. */
class SpringBroker {
    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        do {
            var broker = new EmbeddedKafkaKraftBroker(1, 1, "t");
            // else transactions wait for three brokers
            broker.brokerProperty("transaction.state.log.replication.factor", "1");
            broker.brokerProperty("transaction.state.log.min.isr", "1");
            broker.afterPropertiesSet();
            System.out.println(broker.getBrokersAsString());
            if (lines.readLine() == null) {
                break;
            }
            broker.destroy();
            System.out.println("ended");
        } while (lines.readLine() != null);
        System.exit(0);
    }
}
