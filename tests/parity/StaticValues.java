import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Properties;
import kafka.server.KafkaConfig;

/**
 * Whether Apache Kafka starts with a value in its file: one line "key value" of the given file, both in hexadecimal
 * UTF-8, one digit in the second file, 1 for yes.
 */
public class StaticValues {
    public static void main(String[] arguments) throws Exception {
        StringBuilder taken = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] pair = line.split(" ", -1);
            Properties properties = new Properties();
            properties.put("process.roles", "broker,controller");
            properties.put("node.id", "1");
            properties.put("controller.quorum.voters", "1@127.0.0.1:9093");
            properties.put("listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093");
            properties.put("controller.listener.names", "CONTROLLER");
            properties.put("log.dirs", "/tmp/none");
            properties.put(text(pair[0]), text(pair[1]));
            char digit = '1';
            try {
                KafkaConfig.fromProps(properties, false);
            } catch (RuntimeException refused) {
                digit = '0';
            }
            taken.append(digit);
        }
        Files.writeString(Path.of(arguments[1]), taken);
    }

    private static String text(String hex) {
        return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
    }
}
