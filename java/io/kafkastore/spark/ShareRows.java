package io.kafkastore.spark;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;

/**
 * A task's share as Spark's own rows, in the layout of {@link UnsafeRow}. Every key and value is copied once, out of
 * native memory into the row, where a row out of columns takes two copies and an array for each. The row is used again
 * for the next one, as Spark expects.
 */
final class ShareRows implements PartitionReader<InternalRow> {
    private static final int WORD = 8;
    private static final int FIRST_BYTES = 4096;
    private static final long ARRAY = Platform.BYTE_ARRAY_OFFSET;

    private final ShareReader reader;
    private final NativeVector[] columns;
    private final boolean[] isBytes;
    private final boolean[] isInt;
    private final int fixedBytes;
    private final UnsafeRow row;
    private byte[] bytes = new byte[FIRST_BYTES];
    private int rows;
    private int next;

    ShareRows(ShareReader reader, StructType schema) {
        this.reader = reader;
        columns = reader.columns();
        isBytes = new boolean[columns.length];
        isInt = new boolean[columns.length];
        for (int i = 0; i < columns.length; i++) {
            DataType type = schema.apply(i).dataType();
            isBytes[i] = type instanceof BinaryType || type instanceof StringType;
            isInt[i] = type instanceof IntegerType;
        }
        row = new UnsafeRow(columns.length);
        fixedBytes = UnsafeRow.calculateBitSetWidthInBytes(columns.length) + WORD * columns.length;
    }

    /** Whether such rows can be made of the columns: none of them has columns within it. */
    static boolean canGive(StructType columns) {
        return Arrays.stream(columns.fields()).map(StructField::dataType).allMatch(type -> type instanceof BinaryType
            || type instanceof StringType || type instanceof IntegerType || type instanceof LongType
            || type instanceof TimestampType);
    }

    @Override
    public boolean next() {
        while (next >= rows) {
            if (!reader.next()) {
                return false;
            }
            rows = reader.get().numRows();
            next = 0;
        }
        fill(next);
        next++;
        return true;
    }

    @Override
    public InternalRow get() {
        return row;
    }

    @Override
    public void close() {
        reader.close();
    }

    private void fill(int at) {
        int size = fixedBytes;
        for (int i = 0; i < columns.length; i++) {
            if (isBytes[i] && !columns[i].isNullAt(at)) {
                size = Math.addExact(size, padded(columns[i].byteCount(at)));
            }
        }
        if (size > bytes.length) {
            bytes = new byte[Math.max(size, (int) Math.min(2L * bytes.length, Integer.MAX_VALUE - WORD))];
        }
        row.pointTo(bytes, ARRAY, size);
        int end = fixedBytes;
        Arrays.fill(bytes, 0, fixedBytes, (byte) 0);
        for (int i = 0; i < columns.length; i++) {
            NativeVector column = columns[i];
            if (column.isNullAt(at)) {
                row.setNullAt(i);
            } else if (isBytes[i]) {
                end = copy(i, column, at, end);
            } else if (isInt[i]) {
                row.setInt(i, column.getInt(at));
            } else {
                row.setLong(i, column.getLong(at));
            }
        }
    }

    /** Copies a key, a value or a text behind what is there; where the next one goes. */
    private int copy(int column, NativeVector vector, int at, int end) {
        int count = vector.byteCount(at);
        int padded = padded(count);
        if (padded > 0) {
            Platform.putLong(bytes, ARRAY + end + padded - WORD, 0); // what fills the last word is 0
        }
        vector.copyBytes(at, bytes, ARRAY + end, count);
        row.setLong(column, (long) end << Integer.SIZE | count);
        return end + padded;
    }

    private static int padded(int count) {
        return Math.addExact(count, WORD - 1) & -WORD;
    }
}
