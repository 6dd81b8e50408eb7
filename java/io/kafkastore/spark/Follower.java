package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads a partition in real-time mode: one closed range of offsets after another, each planned here when the one before
 * it is read and records have come. Between ranges it waits a little and looks again.
 */
final class Follower implements SupportsRealTimeRead<InternalRow> {
    private static final long FIRST_WAIT_MS = 1;
    private static final long MAX_WAIT_MS = 16;

    private final RealTimeStream.Followed from;
    private final Map<String, String> options;
    private final ArrayNode filters;
    private final ShareReaderFactory factory;
    private final int offsetColumn;
    private final Deque<InputPartition> shares = new ArrayDeque<>();
    private ShareReader reader;
    private ColumnarBatch batch;
    private int row;
    private long next;
    private long rangeEnd;
    private long waitMs = FIRST_WAIT_MS;

    Follower(
        RealTimeStream.Followed from, StructType columns, Values values, Map<String, String> options, String filters) {
        this.from = from;
        this.options = options;
        this.filters = (ArrayNode) Json.parse(filters);
        // a batch may end in the middle of a range: the offset tells where
        boolean hasOffset = Arrays.asList(columns.fieldNames()).contains(Columns.OFFSET);
        StructType read = hasOffset ? columns : columns.add(Columns.OFFSET, DataTypes.LongType, false);
        factory = new ShareReaderFactory(read, values, options, KafkastoreScanBuilder.NO_LIMIT);
        offsetColumn = read.fieldIndex(Columns.OFFSET);
        next = from.offset();
        rangeEnd = next;
    }

    @Override
    public PartitionOffset getOffset() {
        return new RealTimeStream.Followed(from.topic(), from.partition(), next);
    }

    @Override
    public boolean next() {
        throw new UnsupportedOperationException("in real-time mode Spark asks with a time");
    }

    @Override
    public RecordStatus nextWithTimeout(Long startMs, Long timeoutMs) throws InterruptedIOException {
        return nextWithTimeout(timeoutMs);
    }

    /** As Spark 4.1 asks, which does not tell when. */
    public RecordStatus nextWithTimeout(Long timeoutMs) throws InterruptedIOException {
        long until = System.nanoTime() + timeoutMs * 1_000_000;
        while (!hasRow()) {
            long leftMs = (until - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return RecordStatus.newStatusWithoutArrivalTime(false);
            }
            if (!openNext()) {
                pause(Math.min(waitMs, leftMs));
                waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
            }
        }
        waitMs = FIRST_WAIT_MS;
        next = batch.column(offsetColumn).getLong(row) + 1;
        return RecordStatus.newStatusWithoutArrivalTime(true);
    }

    @Override
    public InternalRow get() {
        return batch.getRow(row);
    }

    /** Goes to the next row of what is open, if there is one. */
    private boolean hasRow() {
        if (batch != null && ++row < batch.numRows()) {
            return true;
        }
        batch = null;
        while (reader != null) {
            if (reader.next()) {
                batch = reader.get();
                row = 0;
                if (batch.numRows() > 0) {
                    return true;
                }
            } else {
                close();
                if (shares.isEmpty()) {
                    next = rangeEnd; // whatever the filters left out
                }
            }
        }
        return false;
    }

    /** Opens what is to be read next; false when there is nothing. */
    private boolean openNext() {
        if (shares.isEmpty() && !plan()) {
            return false;
        }
        reader = factory.createColumnarReader(shares.remove());
        return true;
    }

    private boolean plan() {
        Map<String, String> given = new HashMap<>(options);
        given.put("assign", Json.object().set(from.topic(), Json.array().add(from.partition())).toString());
        long end = Read.inTask(given, Json.array()).offsets().get(0).get("endOffset").asLong();
        if (end <= next) {
            return false;
        }
        given.put("startingOffsets", place(next));
        given.put("endingOffsets", place(end));
        shares.addAll(Arrays.asList(Read.inTask(given, filters).plan().partitions()));
        rangeEnd = end;
        if (shares.isEmpty()) {
            next = end; // no record of these offsets is left
        }
        return !shares.isEmpty();
    }

    private String place(long offset) {
        Places places = new Places();
        places.put(from.topic(), from.partition(), offset);
        return places.json();
    }

    private static void pause(long ms) throws InterruptedIOException {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the task is to end");
        }
    }

    @Override
    public void close() {
        batch = null;
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }
}
