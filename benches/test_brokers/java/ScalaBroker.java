import io.github.embeddedkafka.EmbeddedKafka$;
import io.github.embeddedkafka.EmbeddedKafkaConfig$;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import scala.collection.immutable.Map$;

/** Brokers of embedded-kafka, one after another, as `kfake/main.go` has them. */
class ScalaBroker {
    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        scala.collection.immutable.Map<String, String> none = Map$.MODULE$.empty();
        do {
            var config = EmbeddedKafkaConfig$.MODULE$.apply(0, 0, none, none, none);
            var broker = EmbeddedKafka$.MODULE$.start(config);
            System.out.println("127.0.0.1:" + broker.config().kafkaPort());
            if (lines.readLine() == null) {
                break;
            }
            broker.stop(true);
            System.out.println("ended");
        } while (lines.readLine() != null);
        System.exit(0);
    }
}
