package io.kafkastore.spark;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The option {@code commandConfig}: the path of a {@code client.properties} with {@code security.protocol},
 * {@code ssl.*} and {@code sasl.*}, which the driver reads. Spark shows options in plans, in its pages and in its event
 * log; what the file holds it never sees. Other keys of the file are left alone.
 */
final class CommandConfig {
    static final String OPTION = "commandConfig";
    private static final String PREFIX = "kafka.";
    private static final List<String> SECURITY = List.of("security.protocol", "ssl.", "sasl.");

    private CommandConfig() {
    }

    /** Whether an option, in any case, says how connections to brokers are protected. */
    static boolean isSecurity(String option) {
        String lower = option.toLowerCase(Locale.ROOT);
        return lower.startsWith(PREFIX) && SECURITY.stream().anyMatch(lower.substring(PREFIX.length())::startsWith);
    }

    /** The options with those that the file stands for; options that are given themselves take precedence. */
    static CaseInsensitiveStringMap read(CaseInsensitiveStringMap options) {
        String path = options.get(OPTION);
        if (path == null) {
            return options;
        }
        Properties properties = new Properties();
        try (var text = Files.newBufferedReader(Path.of(path), StandardCharsets.UTF_8)) {
            properties.load(text);
        } catch (IOException | IllegalArgumentException error) {
            throw new IllegalArgumentException(OPTION + ": '" + path + "' cannot be read ("
                + (error instanceof java.nio.file.NoSuchFileException ? "there is no such file" : error.getMessage())
                + "); give a client.properties that the driver sees");
        }
        Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
        all.keySet().removeIf(OPTION::equalsIgnoreCase);
        properties.stringPropertyNames().stream()
            .filter(key -> isSecurity(PREFIX + key) && !options.containsKey(PREFIX + key))
            .forEach(key -> all.put(PREFIX + key, properties.getProperty(key).trim()));
        return new CaseInsensitiveStringMap(all);
    }
}
