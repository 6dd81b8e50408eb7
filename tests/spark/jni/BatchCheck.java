package io.kafkastore.spark;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A batch as a native gave it: its addresses, and every value as Spark reads it. */
final class BatchCheck {
    private static final int DATA_BYTES = 5; // the sixth number of a column

    private BatchCheck() { }

    /** Of the columns, whose numbers are in {@code places}. */
    static void addresses(StructType columns, long[] places, int rows) {
        int at = 0;
        for (int i = 0; i < columns.size(); i++) {
            at = column(columns.apply(i).dataType(), places, at, rows, true);
        }
        Calls.require(at == places.length, "a batch has other numbers than its columns need");
    }

    /** Returns where the next column's numbers begin. Arrays within arrays may be longer than their rows tell. */
    private static int column(DataType type, long[] places, int at, int rows, boolean isTop) {
        String name = type.simpleString();
        long data = places[at + Native.DATA];
        long offsets = places[at + Native.OFFSETS];
        long bytes = places[at + DATA_BYTES];
        Calls.require(places[at + Native.FIRST_ROW] == 0, name + " has a first bit");
        nulls(name, places[at + Native.VALIDITY], places[at + Native.NULLS], rows, isTop);
        int next = at + Native.PLACES;
        if (type instanceof ArrayType array) {
            return column(array.elementType(), places, next, lastOffset(name, offsets, rows), false);
        }
        if (type instanceof MapType map) {
            int pairs = lastOffset(name, offsets, rows);
            return column(map.valueType(), places, column(map.keyType(), places, next, pairs, false), pairs, false);
        }
        if (type instanceof StructType struct) {
            for (int i = 0; i < struct.size(); i++) {
                next = column(struct.apply(i).dataType(), places, next, rows, false);
            }
            return next;
        }
        if (type instanceof StringType || type instanceof BinaryType) {
            int end = lastOffset(name, offsets, rows);
            Calls.require(end <= bytes, name + " ends at " + end + " of " + bytes + " bytes");
            Probe.check(name, data, bytes);
            return next;
        }
        long wanted = type instanceof BooleanType ? (rows + 7L) / 8 : (long) width(type) * rows;
        Calls.require(isTop ? bytes == wanted : bytes >= wanted, name + " has " + bytes + " bytes, not " + wanted);
        Probe.check(name, data, bytes);
        return next;
    }

    private static int width(DataType type) {
        if (type instanceof ByteType) {
            return 1;
        }
        if (type instanceof ShortType) {
            return 2;
        }
        if (type instanceof DecimalType) {
            return 16;
        }
        return type instanceof IntegerType || type instanceof FloatType || type instanceof DateType ? 4 : 8;
    }

    private static void nulls(String name, long validity, long nulls, int rows, boolean isTop) {
        if (validity == 0) {
            Calls.require(nulls == 0, name + " has nulls and no bits");
            return;
        }
        Probe.check(name + ", validity", validity, (rows + 7L) / 8);
        int count = 0;
        for (int i = 0; i < rows; i++) {
            count += (Platform.getByte(null, validity + (i >> 3)) >> (i & 7) & 1) ^ 1;
        }
        Calls.require(isTop ? count == nulls : count <= nulls, name + " has " + count + " nulls, not " + nulls);
    }

    private static int lastOffset(String name, long offsets, int rows) {
        Probe.check(name + ", offsets", offsets, 4L * (rows + 1));
        int last = Platform.getInt(null, offsets);
        Calls.require(last >= 0, name + " begins at " + last);
        for (int i = 1; i <= rows; i++) {
            int offset = Platform.getInt(null, offsets + 4L * i);
            Calls.require(offset >= last, name + " has offsets that fall");
            last = offset;
        }
        return last;
    }

    /** Reads every value; returns the rows. */
    static int values(StructType columns, ColumnarBatch batch) {
        long sum = 0;
        for (int i = 0; i < columns.size(); i++) {
            DataType type = columns.apply(i).dataType();
            for (int row = 0; row < batch.numRows(); row++) {
                sum += value(batch.column(i), type, row);
            }
        }
        if (sum == 42) {
            System.out.print(""); // so that the JVM leaves no read out
        }
        Calls.BATCHES.incrementAndGet();
        Calls.ROWS.addAndGet(batch.numRows());
        return batch.numRows();
    }

    private static long value(ColumnVector vector, DataType type, int row) {
        if (vector.isNullAt(row)) {
            return 1;
        }
        if (type instanceof StringType) {
            return text(vector.getUTF8String(row));
        }
        if (type instanceof BinaryType) {
            return vector.getBinary(row).length;
        }
        if (type instanceof ArrayType array) {
            return list(vector.getArray(row), array.elementType());
        }
        if (type instanceof MapType map) {
            ColumnarMap found = vector.getMap(row);
            return list(found.keyArray(), map.keyType()) + list(found.valueArray(), map.valueType());
        }
        if (type instanceof StructType struct) {
            long sum = 0;
            for (int i = 0; i < struct.size(); i++) {
                sum += value(vector.getChild(i), struct.apply(i).dataType(), row);
            }
            return sum;
        }
        if (type instanceof DecimalType decimal) {
            return vector.getDecimal(row, decimal.precision(), decimal.scale()).hashCode();
        }
        if (type instanceof BooleanType) {
            return vector.getBoolean(row) ? 1 : 0;
        }
        return switch (width(type)) {
            case 1 -> vector.getByte(row);
            case 2 -> vector.getShort(row);
            case 4 -> type instanceof FloatType ? (long) vector.getFloat(row) : vector.getInt(row);
            default -> type instanceof DoubleType ? (long) vector.getDouble(row) : vector.getLong(row);
        };
    }

    /** A text is UTF-8. */
    private static long text(UTF8String text) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text.getBytes())).length();
        } catch (CharacterCodingException error) {
            throw new JniFuzz.Finding("a text is no UTF-8: " + text);
        }
    }

    private static long list(ColumnarArray list, DataType type) {
        long sum = list.numElements();
        Calls.require(sum >= 0, "a list has " + sum + " elements");
        for (int i = 0; i < list.numElements(); i++) {
            if (list.isNullAt(i)) {
                continue;
            }
            if (type instanceof StringType) {
                sum += text(list.getUTF8String(i));
            } else if (type instanceof BinaryType) {
                sum += list.getBinary(i).length;
            } else if (type instanceof ArrayType array) {
                sum += list(list.getArray(i), array.elementType());
            } else if (type instanceof StructType struct) {
                for (int field = 0; field < struct.size(); field++) {
                    sum += String.valueOf(list.getStruct(i, struct.size()).get(field, struct.apply(field).dataType()))
                        .length();
                }
            } else {
                sum += String.valueOf(list.get(i, type)).hashCode();
            }
        }
        return sum;
    }
}
