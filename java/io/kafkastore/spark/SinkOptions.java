package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The options of a write. The names of the guarantees are those of Flink's Kafka sink ({@code sink.delivery-guarantee},
 * {@code sink.transactional-id-prefix}).
 */
record SinkOptions(
    Map<String, String> all, String topic, boolean isExactlyOnce, String prefix, boolean includesTimestamps) {
    /** Without the options, which may hold passwords. */
    @Override
    public String toString() {
        return "SinkOptions[topic=" + topic + ", prefix=" + prefix + "]";
    }

    static final String GUARANTEE = "deliveryGuarantee";
    static final String PREFIX = "transactionalIdPrefix";
    private static final String TIMESTAMPS = "includeTimestamps";
    private static final String AT_LEAST_ONCE = "at-least-once";
    private static final String EXACTLY_ONCE = "exactly-once";
    /** Ids have at most 32767 bytes; what tasks append is far shorter than the rest. */
    private static final int MAX_PREFIX = 1000;
    private static final Logger LOG = LoggerFactory.getLogger(SinkOptions.class);

    /** Reads and checks them, and logs the warnings about them; {@code queryId} stays the same over restarts. */
    static SinkOptions of(CaseInsensitiveStringMap given, String queryId) {
        CaseInsensitiveStringMap options = CommandConfig.read(given);
        String guarantee = options.getOrDefault(GUARANTEE, AT_LEAST_ONCE).trim().toLowerCase(java.util.Locale.ROOT);
        if (!guarantee.equals(AT_LEAST_ONCE) && !guarantee.equals(EXACTLY_ONCE)) {
            throw new IllegalArgumentException(GUARANTEE + ": '" + options.get(GUARANTEE) + "' is none; say "
                + AT_LEAST_ONCE + " or " + EXACTLY_ONCE);
        }
        boolean isExactlyOnce = guarantee.equals(EXACTLY_ONCE);
        String prefix = options.get(PREFIX);
        if (prefix != null && (prefix.isBlank() || prefix.length() > MAX_PREFIX)) {
            throw new IllegalArgumentException(PREFIX + ": '" + prefix + "' has " + prefix.length()
                + " characters; give 1 to " + MAX_PREFIX);
        }
        Map<String, String> all = Map.copyOf(options.asCaseSensitiveMap());
        ObjectNode request = Json.object();
        all.forEach(request.putObject("options")::put);
        request.put("isExactlyOnce", isExactlyOnce);
        Json.parse(NativeProducer.check(request.toString())).get("warnings")
            .forEach(warning -> LOG.warn("{}", warning.asText()));
        return new SinkOptions(all, options.get("topic"), isExactlyOnce,
            prefix != null ? prefix : "kafkastore-" + queryId, options.getBoolean(TIMESTAMPS, false));
    }
}
