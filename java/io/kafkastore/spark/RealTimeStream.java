package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A stream that Spark may also run in real-time mode: then each partition has a task of its own, which follows the
 * partition's end for as long as a batch lasts. Checkpoints are those of the other triggers.
 *
 * <p>Only Spark 4.1 and newer have the mode; with an older one this class is never loaded.
 */
final class RealTimeStream extends KafkastoreStream implements SupportsRealTimeMode {
    private boolean isRealTime;

    RealTimeStream(
        StructType columns, Values values, CaseInsensitiveStringMap options, ArrayNode filters, String checkpoint) {
        super(columns, values, options, filters, checkpoint);
    }

    /**
     * A partition that a task follows from {@code offset} on; and how far the task has come: the offset after the last
     * row that it gave, or after the last that held none.
     */
    record Followed(String topic, int partition, long offset) implements InputPartition, PartitionOffset { }

    @Override
    public void prepareForRealTimeMode() {
        isRealTime = true;
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start) {
        JsonNode ranges = fetchLatest((Places) start);
        Places begins = Places.of(ranges, "startOffset"); // of partitions that are new: their beginning
        ((Places) start).forEach(begins::put);
        List<InputPartition> found = new ArrayList<>();
        begins.forEach((topic, partition, offset) -> found.add(new Followed(topic, partition, offset)));
        return found.toArray(InputPartition[]::new);
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
        Places found = new Places();
        for (PartitionOffset offset : offsets) {
            Followed reached = (Followed) offset;
            found.put(reached.topic(), reached.partition(), reached.offset());
        }
        return found;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return isRealTime
            ? new FollowerFactory(columns(), values(), unbounded(), filters().toString())
            : super.createReaderFactory();
    }
}
