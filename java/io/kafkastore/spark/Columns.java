package io.kafkastore.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns, with the names and types of Spark's Kafka source. */
final class Columns {
    static final String KEY = "key";
    static final String TOPIC = "topic";
    static final String PARTITION = "partition";
    static final String OFFSET = "offset";
    static final String TIMESTAMP = "timestamp";
    static final String HEADERS = "headers";

    private static final StructType HEADER = new StructType()
        .add("key", DataTypes.StringType)
        .add("value", DataTypes.BinaryType);
    private static final StructType ALL = new StructType()
        .add(KEY, DataTypes.BinaryType)
        .add("value", DataTypes.BinaryType)
        .add(TOPIC, DataTypes.StringType)
        .add(PARTITION, DataTypes.IntegerType)
        .add(OFFSET, DataTypes.LongType)
        .add(TIMESTAMP, DataTypes.TimestampType)
        .add("timestampType", DataTypes.IntegerType)
        .add(HEADERS, new ArrayType(HEADER, true));

    private Columns() { }

    static StructType all(boolean hasHeaders) {
        if (hasHeaders) {
            return ALL;
        }
        StructField[] fields = ALL.fields();
        return new StructType(Arrays.copyOf(fields, fields.length - 1));
    }

    /** Our own column of that name, whatever its case; IllegalArgumentException when no record has it. */
    static StructField own(String name) {
        return Arrays.stream(ALL.fields())
            .filter(one -> one.name().equalsIgnoreCase(name))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("schema: there is no column " + name + "; there are "
                + String.join(", ", ALL.fieldNames())));
    }

    /** Columns of these names with our own types: Spark may have pruned a type. */
    static StructType withOwnTypes(StructType wanted) {
        List<StructField> found = new ArrayList<>();
        for (StructField field : wanted.fields()) {
            found.add(new StructField(field.name(), own(field.name()).dataType(), field.nullable(), field.metadata()));
        }
        return new StructType(found.toArray(new StructField[0]));
    }

    /** IllegalArgumentException unless a user's columns have the types of ours. */
    static void check(StructType wanted) {
        for (StructField field : wanted.fields()) {
            StructField own = own(field.name());
            if (!field.dataType().sameType(own.dataType())) {
                throw new IllegalArgumentException("schema: column " + own.name() + " is "
                    + own.dataType().catalogString() + ", not " + field.dataType().catalogString() + "; read "
                    + own.dataType().catalogString() + " and convert the column");
            }
        }
    }
}
