package io.kafkastore.spark;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Rows packed for {@link NativeProducer#append}, in the layout that rust/producer/rows.rs has. The bytes of Spark's own
 * rows are copied once, without an object for each.
 */
final class RowBlock {
    private static final int NULL = -1;
    private static final int DEFAULT_TOPIC = -2;
    private static final long NOW = -1;
    private static final long MICROS_A_MILLI = 1000;
    private static final int FIXED_BYTES = 28;
    private static final int HEADER_BYTES = 8;
    private static final int USUAL_BYTES = 256 << 10;
    private static final int MOST_BYTES = Integer.MAX_VALUE - 64;

    private final RowColumns columns;
    private byte[] bytes = new byte[USUAL_BYTES];
    private int size;

    RowBlock(RowColumns columns) {
        this.columns = columns;
    }

    byte[] bytes() {
        return bytes;
    }

    int size() {
        return size;
    }

    /** Whether the block is as large as one should be. */
    boolean isFull() {
        return size >= USUAL_BYTES;
    }

    void clear() {
        size = 0;
        if (bytes.length > 4 * USUAL_BYTES) { // a large row made it so
            bytes = new byte[USUAL_BYTES];
        }
    }

    void append(InternalRow row) {
        int start = size;
        reserve(FIXED_BYTES);
        size += FIXED_BYTES;
        boolean hasPartition = columns.partition() != RowColumns.NONE && !row.isNullAt(columns.partition());
        putInt(start, hasPartition ? checked(row.getInt(columns.partition())) : NULL);
        putInt(start + 4, columns.topic() == RowColumns.NONE ? DEFAULT_TOPIC : put(row, columns.topic(), true));
        putInt(start + 8, put(row, columns.key(), columns.isTextKey()));
        putInt(start + 12, put(row, columns.value(), columns.isTextValue()));
        putInt(start + 16, putHeaders(row));
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + start + 20, timestampMs(row));
    }

    /** Of the row; NOW where it has none. */
    private long timestampMs(InternalRow row) {
        if (columns.timestamp() == RowColumns.NONE || row.isNullAt(columns.timestamp())) {
            return NOW;
        }
        return Math.floorDiv(row.getLong(columns.timestamp()), MICROS_A_MILLI);
    }

    private static int checked(int partition) {
        if (partition < 0) {
            throw new IllegalArgumentException("partition: " + partition + " is no partition; give one of the topic's,"
                + " or null for the partitioner's choice");
        }
        return partition;
    }

    /** Appends the field's bytes; how many, or NULL. */
    private int put(InternalRow row, int at, boolean isText) {
        if (at == RowColumns.NONE || row.isNullAt(at)) {
            return NULL;
        }
        if (row instanceof UnsafeRow plain) {
            long place = plain.getLong(at); // offset and size
            int length = (int) place;
            return copy(plain.getBaseObject(), plain.getBaseOffset() + (place >>> 32), length);
        }
        return isText ? put(row.getUTF8String(at)) : put(row.getBinary(at));
    }

    private int put(UTF8String text) {
        return copy(text.getBaseObject(), text.getBaseOffset(), text.numBytes());
    }

    private int put(byte[] data) {
        return copy(data, Platform.BYTE_ARRAY_OFFSET, data.length);
    }

    private int copy(Object from, long offset, int length) {
        reserve(length);
        Platform.copyMemory(from, offset, bytes, Platform.BYTE_ARRAY_OFFSET + size, length);
        size += length;
        return length;
    }

    private int putHeaders(InternalRow row) {
        if (columns.headers() == RowColumns.NONE || row.isNullAt(columns.headers())) {
            return 0;
        }
        ArrayData headers = row.getArray(columns.headers());
        for (int i = 0; i < headers.numElements(); i++) {
            if (headers.isNullAt(i)) {
                throw new IllegalArgumentException("headers: a header is null; leave it out of the array");
            }
            InternalRow header = headers.getStruct(i, 2);
            int start = size;
            reserve(HEADER_BYTES);
            size += HEADER_BYTES;
            putInt(start, header.isNullAt(0) ? NULL : put(header.getUTF8String(0)));
            putInt(start + 4, header.isNullAt(1) ? NULL : put(header.getBinary(1)));
        }
        return headers.numElements();
    }

    private void putInt(int at, int value) {
        Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, value);
    }

    private void reserve(int more) {
        long wanted = (long) size + more;
        if (wanted > MOST_BYTES) {
            throw new IllegalArgumentException("a row of " + wanted + " bytes is larger than any record can be; split"
                + " its value");
        }
        if (wanted > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.min(MOST_BYTES, Math.max(wanted, 2L * bytes.length)));
        }
    }
}
