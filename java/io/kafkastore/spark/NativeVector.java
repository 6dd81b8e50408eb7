package io.kafkastore.spark;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of Arrow's layout in native memory, which it points to and does not own. Text is given where it lies; bytes
 * are copied, since Spark wants them as an array.
 */
final class NativeVector extends ColumnVector {
    private final NativeVector[] children;
    private long data;
    private long offsets;
    private long validity;
    private long firstRow;
    private int nulls;

    private NativeVector(DataType type, NativeVector... children) {
        super(type);
        this.children = children;
    }

    static NativeVector of(DataType type) {
        if (type instanceof ArrayType array) {
            return new NativeVector(type, of(array.elementType()));
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

    /** How many numbers tell where the column and its children are; a struct itself is nowhere. */
    int placeCount() {
        int count = dataType() instanceof StructType ? 0 : Native.PLACES;
        for (NativeVector child : children) {
            count += child.placeCount();
        }
        return count;
    }

    /** Takes its places from {@code places}, the first of them at {@code at}; returns where the next column's begin. */
    int point(long[] places, int at) {
        int next = at;
        if (!(dataType() instanceof StructType)) {
            data = places[at + Native.DATA];
            offsets = places[at + Native.OFFSETS];
            validity = places[at + Native.VALIDITY];
            firstRow = places[at + Native.FIRST_ROW];
            nulls = (int) places[at + Native.NULLS];
            next += Native.PLACES;
        }
        for (NativeVector child : children) {
            next = child.point(places, next);
        }
        return next;
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
        if (validity == 0) {
            return false;
        }
        long bit = firstRow + row;
        return (Platform.getByte(null, validity + (bit >> 3)) >> (bit & 7) & 1) == 0;
    }

    @Override
    public int getInt(int row) {
        return Platform.getInt(null, data + ((firstRow + row) << 2));
    }

    @Override
    public long getLong(int row) {
        return Platform.getLong(null, data + ((firstRow + row) << 3));
    }

    private int offset(long row) {
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

    @Override
    public ColumnarArray getArray(int row) {
        if (isNullAt(row)) {
            return null;
        }
        int begin = offset(row);
        return new ColumnarArray(children[0], begin, offset(row + 1L) - begin);
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        return children[ordinal];
    }

    private UnsupportedOperationException none() {
        return new UnsupportedOperationException("no column is of this type: " + dataType().catalogString());
    }

    @Override
    public boolean getBoolean(int row) {
        throw none();
    }

    @Override
    public byte getByte(int row) {
        throw none();
    }

    @Override
    public short getShort(int row) {
        throw none();
    }

    @Override
    public float getFloat(int row) {
        throw none();
    }

    @Override
    public double getDouble(int row) {
        throw none();
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        throw none();
    }

    @Override
    public ColumnarMap getMap(int row) {
        throw none();
    }
}
