package io.kafkastore.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns, with the names and types of Spark's Kafka source. */
final class Columns {
    static final String KEY = "key";
    static final String VALUE = "value";
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
        .add(VALUE, DataTypes.BinaryType)
        .add(TOPIC, DataTypes.StringType)
        .add(PARTITION, DataTypes.IntegerType)
        .add(OFFSET, DataTypes.LongType)
        .add(TIMESTAMP, DataTypes.TimestampType)
        .add("timestampType", DataTypes.IntegerType)
        .add(HEADERS, new ArrayType(HEADER, true));

    /** What length(key) and length(value) are, without a byte of either; names of Kafka's ConsumerRecord. */
    static final StructType SIZES = new StructType()
        .add("serializedKeySize", DataTypes.IntegerType)
        .add("serializedValueSize", DataTypes.IntegerType);

    private Columns() { }

    static StructType all(boolean hasHeaders, Values values) {
        StructField[] fields = ALL.fields().clone();
        for (int i = 0; i < fields.length; i++) {
            fields[i] = withType(fields[i], typeOf(fields[i], values));
        }
        return new StructType(hasHeaders ? fields : Arrays.copyOf(fields, fields.length - 1));
    }

    private static StructField withType(StructField field, DataType type) {
        return new StructField(field.name(), type, field.nullable(), field.metadata());
    }

    private static DataType typeOf(StructField own, Values values) {
        return own.name().equals(VALUE) ? values.type() : own.dataType();
    }

    /** Our own column of that name, whatever its case; IllegalArgumentException when no record has it. */
    static StructField own(String name) {
        return Stream.concat(Arrays.stream(ALL.fields()), Arrays.stream(SIZES.fields()))
            .filter(one -> one.name().equalsIgnoreCase(name))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("schema: there is no column " + name + "; there are "
                + String.join(", ", ALL.fieldNames())));
    }

    /**
     * Columns of these names with our own types: Spark may have pruned a type. Of a value that is parsed, only the
     * fields are wanted that Spark has left.
     */
    static StructType withOwnTypes(StructType wanted) {
        List<StructField> found = new ArrayList<>();
        for (StructField field : wanted.fields()) {
            StructField own = own(field.name());
            boolean isParsed = own.name().equals(VALUE) && field.dataType() instanceof StructType;
            found.add(isParsed ? field : withType(field, own.dataType()));
        }
        return new StructType(found.toArray(new StructField[0]));
    }

    /** The names of the columns, and of a parsed value its fields too, for the description of a query's plan. */
    static String described(StructType columns) {
        return Arrays.stream(columns.fields())
            .map(field -> field.name()
                + (field.dataType() instanceof StructType ? " " + field.dataType().catalogString() : ""))
            .collect(Collectors.joining(", ", "[", "]"));
    }

    /** IllegalArgumentException unless a user's columns have the types of ours. */
    static void check(StructType wanted, Values values) {
        for (StructField field : wanted.fields()) {
            StructField own = own(field.name());
            DataType type = typeOf(own, values);
            if (!field.dataType().sameType(type)) {
                throw new IllegalArgumentException("schema: column " + own.name() + " is "
                    + type.catalogString() + ", not " + field.dataType().catalogString() + "; read "
                    + type.catalogString() + " and convert the column");
            }
        }
    }
}
