import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the words of a topic: StreamsWordCount PROPERTIES INPUT OUTPUT memory|rocksdb. The input's values are words;
 * they pass a repartition topic by their word, are counted in the store `counts`, which has a changelog, and each new
 * count is a record of the output. It runs until its standard input ends.
 */
public final class StreamsWordCount {
    private static final String STORE = "counts";

    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(Path.of(arguments[0]), StandardCharsets.UTF_8)) {
            config.load(reader);
        }
        KeyValueBytesStoreSupplier store = arguments[3].equals("memory")
            ? Stores.inMemoryKeyValueStore(STORE) : Stores.persistentKeyValueStore(STORE);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[1], Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy((number, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(store).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .to(arguments[2], Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setUncaughtExceptionHandler(thrown -> {
            System.err.println("a stream thread is replaced: " + thrown);
            thrown.printStackTrace();
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        while (System.in.read() >= 0) { }
        streams.close(Duration.ofSeconds(10));
    }

    private StreamsWordCount() { }
}
