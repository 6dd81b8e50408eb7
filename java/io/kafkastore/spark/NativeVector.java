package io.kafkastore.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of Arrow's layout in native memory, which it points to and does not own, with the columns within it. Text is
 * given where it lies; bytes are copied, since Spark wants them as an array.
 */
final class NativeVector extends ColumnVector {
    private static final int DECIMAL_BYTES = 16;
    private static final String FREED = "the batch is freed: the reader has gone on, or is closed";

    private final NativeVector[] children;
    private long data;
    private long offsets;
    private long validity;
    private long firstRow;
    private int nulls;
    private boolean isValid;

    private NativeVector(DataType type, NativeVector... children) {
        super(type);
        this.children = children;
    }

    static NativeVector of(DataType type) {
        if (type instanceof ArrayType array) {
            return new NativeVector(type, of(array.elementType()));
        }
        if (type instanceof MapType map) {
            return new NativeVector(type, of(map.keyType()), of(map.valueType()));
        }
        if (type instanceof StructType struct) {
            NativeVector[] fields = new NativeVector[struct.size()];
            for (int i = 0; i < fields.length; i++) {
                fields[i] = of(struct.apply(i).dataType());
            }
            return new NativeVector(type, fields);
        }
        return new NativeVector(type);
    }

    /** How many numbers tell where the column and the columns within it are. */
    int placeCount() {
        int count = Native.PLACES;
        for (NativeVector child : children) {
            count += child.placeCount();
        }
        return count;
    }

    /** Takes its places from {@code places}, the first of them at {@code at}; returns where the next column's begin. */
    int point(long[] places, int at) {
        data = places[at + Native.DATA];
        offsets = places[at + Native.OFFSETS];
        validity = places[at + Native.VALIDITY];
        firstRow = places[at + Native.FIRST_ROW];
        nulls = (int) places[at + Native.NULLS];
        isValid = true;
        int next = at + Native.PLACES;
        for (NativeVector child : children) {
            next = child.point(places, next);
        }
        return next;
    }

    /** What it points to is freed: with assertions, whoever reads on fails instead of reading what is there now. */
    void forget() {
        isValid = false;
        nulls = 0;
        for (NativeVector child : children) {
            child.forget();
        }
    }

    @Override
    public void close() { }

    @Override
    public boolean hasNull() {
        return nulls > 0;
    }

    @Override
    public int numNulls() {
        return nulls;
    }

    @Override
    public boolean isNullAt(int row) {
        assert isValid : FREED;
        return validity != 0 && !bit(validity, row);
    }

    private boolean bit(long bits, int row) {
        assert isValid : FREED;
        long bit = firstRow + row;
        return (Platform.getByte(null, bits + (bit >> 3)) >> (bit & 7) & 1) != 0;
    }

    @Override
    public boolean getBoolean(int row) {
        return bit(data, row);
    }

    @Override
    public byte getByte(int row) {
        assert isValid : FREED;
        return Platform.getByte(null, data + firstRow + row);
    }

    @Override
    public short getShort(int row) {
        assert isValid : FREED;
        return Platform.getShort(null, data + ((firstRow + row) << 1));
    }

    @Override
    public int getInt(int row) {
        assert isValid : FREED;
        return Platform.getInt(null, data + ((firstRow + row) << 2));
    }

    @Override
    public long getLong(int row) {
        assert isValid : FREED;
        return Platform.getLong(null, data + ((firstRow + row) << 3));
    }

    @Override
    public float getFloat(int row) {
        assert isValid : FREED;
        return Platform.getFloat(null, data + ((firstRow + row) << 2));
    }

    @Override
    public double getDouble(int row) {
        assert isValid : FREED;
        return Platform.getDouble(null, data + ((firstRow + row) << 3));
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        if (isNullAt(row)) {
            return null;
        }
        long place = data + (firstRow + row) * DECIMAL_BYTES;
        if (precision <= Decimal.MAX_LONG_DIGITS()) {
            return Decimal.createUnsafe(Platform.getLong(null, place), precision, scale);
        }
        byte[] highFirst = new byte[DECIMAL_BYTES];
        for (int i = 0; i < DECIMAL_BYTES; i++) {
            highFirst[i] = Platform.getByte(null, place + DECIMAL_BYTES - 1 - i);
        }
        return Decimal.apply(new BigDecimal(new BigInteger(highFirst), scale), precision, scale);
    }

    private int offset(long row) {
        assert isValid : FREED;
        return Platform.getInt(null, offsets + ((firstRow + row) << 2));
    }

    @Override
    public UTF8String getUTF8String(int row) {
        if (isNullAt(row)) {
            return null;
        }
        int begin = offset(row);
        return UTF8String.fromAddress(null, data + begin, offset(row + 1L) - begin);
    }

    @Override
    public byte[] getBinary(int row) {
        if (isNullAt(row)) {
            return null;
        }
        int begin = offset(row);
        byte[] bytes = new byte[offset(row + 1L) - begin];
        Platform.copyMemory(null, data + begin, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
        return bytes;
    }

    /** The bytes of a text or a byte string, which is not null. */
    int byteCount(int row) {
        return offset(row + 1L) - offset(row);
    }

    /** Copies the bytes of a text or a byte string, which is not null. */
    void copyBytes(int row, Object to, long place, int count) {
        Platform.copyMemory(null, data + offset(row), to, place, count);
    }

    @Override
    public ColumnarArray getArray(int row) {
        if (isNullAt(row)) {
            return null;
        }
        int begin = offset(row);
        return new ColumnarArray(children[0], begin, offset(row + 1L) - begin);
    }

    @Override
    public ColumnarMap getMap(int row) {
        if (isNullAt(row)) {
            return null;
        }
        int begin = offset(row);
        return new ColumnarMap(children[0], children[1], begin, offset(row + 1L) - begin);
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        return children[ordinal];
    }
}
