package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A stream of batches, each a plan over a range of offsets that is fixed when the batch begins. Offsets in checkpoints
 * are those of Spark's Kafka source.
 */
class KafkastoreStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    private static final String REAL_TIME_MODE = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode";
    /** Options that the stream itself has acted on. */
    private static final String[] ANSWERED = {
        "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay", "maxbytespertrigger",
        "startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp", "endingoffsets",
        "endingoffsetsbytimestamp", "endingtimestamp", "subscribe", "subscribepattern", "assign",
    };

    private final StructType columns;
    private final Values values;
    private final Map<String, String> options;
    private final ArrayNode filters;
    private final TriggerLimits limits;
    private final InitialPlaces initial;
    private Places known;
    private Places latest;
    private boolean isBounded;

    KafkastoreStream(
        StructType columns, Values values, CaseInsensitiveStringMap options, ArrayNode filters, String checkpoint) {
        this.columns = columns;
        this.values = values;
        this.options = options.asCaseSensitiveMap();
        this.filters = filters;
        this.limits = new TriggerLimits(options);
        this.initial = new InitialPlaces(checkpoint);
    }

    /** The stream, which may also run in real-time mode where Spark has it. */
    static KafkastoreStream of(
        StructType columns, Values values, CaseInsensitiveStringMap options, ArrayNode filters, String checkpoint) {
        try {
            Class.forName(REAL_TIME_MODE, false, KafkastoreStream.class.getClassLoader());
        } catch (ClassNotFoundException error) {
            return new KafkastoreStream(columns, values, options, filters, checkpoint);
        }
        return Newer.stream(columns, values, options, filters, checkpoint);
    }

    /** A class of its own: to verify the method above must not load what an older Spark has not. */
    private static final class Newer {
        private Newer() { }

        static KafkastoreStream stream(
            StructType columns, Values values, CaseInsensitiveStringMap options, ArrayNode filters, String checkpoint) {
            return new RealTimeStream(columns, values, options, filters, checkpoint);
        }
    }

    StructType columns() {
        return columns;
    }

    Values values() {
        return values;
    }

    ArrayNode filters() {
        return filters;
    }

    /** Where every partition begins and ends between these bounds; the start is the stream's own when it is null. */
    private JsonNode offsets(String start, String end) {
        Map<String, String> given = new HashMap<>(options);
        given.keySet().removeIf(name -> {
            String small = name.toLowerCase(Locale.ROOT);
            return small.startsWith("ending") || small.startsWith("starting") && start != null;
        });
        if (start != null) {
            given.put("startingOffsets", start);
        }
        given.put("endingOffsets", end);
        return new Read(given, Json.array()).offsets();
    }

    @Override
    public Offset initialOffset() {
        return initial.get(() -> {
            boolean hasStart = options.keySet().stream()
                .anyMatch(name -> name.toLowerCase(Locale.ROOT).startsWith("starting"));
            boolean startsAtLatest = options.entrySet().stream().anyMatch(
                option -> option.getKey().equalsIgnoreCase("startingOffsets")
                    && option.getValue().equalsIgnoreCase("latest"));
            if (!hasStart || startsAtLatest) { // a stream begins at the latest, unlike a batch
                return Places.of(offsets("earliest", "latest"), "endOffset");
            }
            return Places.of(offsets(null, "latest"), "startOffset");
        });
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks with a limit");
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return limits.asReadLimit();
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        fetchLatest(null);
        isBounded = true;
    }

    @Override
    public Offset latestOffset(Offset from, ReadLimit limit) {
        Places start = (Places) from;
        if (!isBounded) {
            fetchLatest(start);
        }
        long bytes = limits.countsBytes() ? waitingBytes(start) : 0;
        return limits.end(start, latest, bytes, limit, System.currentTimeMillis());
    }

    @Override
    public Offset reportLatestOffset() {
        return latest;
    }

    /**
     * Looks where all partitions begin and end; of those that are new, the batch reads from their beginning.
     */
    final JsonNode fetchLatest(Places start) {
        JsonNode ranges = offsets("earliest", "latest");
        latest = Places.of(ranges, "endOffset");
        known = Places.of(ranges, "startOffset");
        if (start != null) { // never behind what was read: a checkpoint of the files may be older
            start.forEach((topic, partition, offset) -> {
                Long end = latest.get(topic, partition);
                if (end == null || end < offset) {
                    latest.put(topic, partition, offset);
                }
            });
        }
        return ranges;
    }

    /** The options that say nothing of what is read, only how. */
    final Map<String, String> unbounded() {
        Map<String, String> given = new HashMap<>(options);
        for (String answered : ANSWERED) {
            given.keySet().removeIf(name -> name.equalsIgnoreCase(answered));
        }
        return given;
    }

    private long waitingBytes(Places start) {
        Map<String, String> given = bounded(start, latest);
        return given == null ? 0 : new Read(given, Json.array()).plan().sizeBytes();
    }

    /** The options that read from {@code start} to {@code end}; null when there is nothing between them. */
    private Map<String, String> bounded(Places start, Places end) {
        Places begins = new Places();
        Places ends = new Places();
        Map<String, ArrayNode> assigned = new LinkedHashMap<>();
        end.forEach((topic, partition, offset) -> {
            Long begin = start.get(topic, partition);
            if (begin == null) {
                begin = known == null ? null : known.get(topic, partition);
            }
            if (begin == null) {
                begin = 0L;
            }
            if (begin < offset) {
                begins.put(topic, partition, begin);
                ends.put(topic, partition, offset);
                assigned.computeIfAbsent(topic, name -> Json.array()).add(partition);
            }
        });
        if (assigned.isEmpty()) {
            return null;
        }
        Map<String, String> given = unbounded();
        ObjectNode assign = Json.object();
        assigned.forEach(assign::set);
        given.put("assign", assign.toString());
        given.put("startingOffsets", begins.json());
        given.put("endingOffsets", ends.json());
        return given;
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        Map<String, String> given = bounded((Places) start, (Places) end);
        if (given == null) {
            return new InputPartition[0];
        }
        return new Read(given, filters).plan().partitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new ShareReaderFactory(columns, values, options, KafkastoreScanBuilder.NO_LIMIT);
    }

    @Override
    public Offset deserializeOffset(String json) {
        return Places.parse(json);
    }

    @Override
    public void commit(Offset end) { }

    @Override
    public void stop() { }

    /** As Spark's Kafka source: how far behind the latest offsets the stream is. */
    @Override
    public Map<String, String> metrics(Optional<Offset> consumed) {
        if (consumed.isEmpty() || latest == null) {
            return Map.of();
        }
        Places at = consumed.get() instanceof Places places ? places : Places.parse(consumed.get().json());
        long[] figures = {Long.MAX_VALUE, 0, 0, 0};
        latest.forEach((topic, partition, end) -> {
            Long offset = at.get(topic, partition);
            if (offset != null) {
                long behind = Math.max(0, end - offset);
                figures[0] = Math.min(figures[0], behind);
                figures[1] = Math.max(figures[1], behind);
                figures[2] += behind;
                figures[3]++;
            }
        });
        if (figures[3] == 0) {
            return Map.of();
        }
        return Map.of(
            "minOffsetsBehindLatest", Long.toString(figures[0]),
            "maxOffsetsBehindLatest", Long.toString(figures[1]),
            "avgOffsetsBehindLatest", Double.toString((double) figures[2] / figures[3]));
    }
}
