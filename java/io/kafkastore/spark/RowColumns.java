package io.kafkastore.spark;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Which columns of a query are written as what; -1 for a column that the query lacks. Names, types and sentences are
 * those of Spark's Kafka sink, other columns are refused by neither; {@code timestamp} is written where it is asked
 * for.
 */
record RowColumns(
    int topic, int partition, int key, int value, int headers, int timestamp, boolean isTextKey, boolean isTextValue)
    implements Serializable {
    static final int NONE = -1;

    /** Of a query that is written to {@code topic}, or to that of each row when it is null. */
    static RowColumns of(StructType schema, String topic, boolean includesTimestamps) {
        int topics = find(schema, "topic", StringType.class);
        if (topics == NONE && topic == null) {
            throw new IllegalArgumentException("topic option required when no 'topic' attribute is present. Use the"
                + " topic option for setting a topic.");
        }
        int key = find(schema, "key", StringType.class, BinaryType.class);
        int value = find(schema, "value", StringType.class, BinaryType.class);
        if (value == NONE) {
            throw new IllegalArgumentException("Required attribute 'value' not found; name the column to write value");
        }
        int headers = find(schema, "headers", ArrayType.class);
        if (headers != NONE && !isHeaders(schema.apply(headers).dataType())) {
            throw unsupported(schema, headers);
        }
        int partition = find(schema, "partition", IntegerType.class);
        int timestamp = includesTimestamps ? find(schema, "timestamp", TimestampType.class) : NONE;
        return new RowColumns(topic == null ? topics : NONE, partition, key, value, headers, timestamp,
            key != NONE && schema.apply(key).dataType() instanceof StringType,
            schema.apply(value).dataType() instanceof StringType);
    }

    private static int find(StructType schema, String name, Class<?>... types) {
        int at = Arrays.asList(schema.fieldNames()).indexOf(name);
        if (at != NONE && Arrays.stream(types).noneMatch(type -> type.isInstance(schema.apply(at).dataType()))) {
            throw unsupported(schema, at);
        }
        return at;
    }

    private static boolean isHeaders(DataType type) {
        return ((ArrayType) type).elementType() instanceof StructType header && header.size() == 2
            && header.apply(0).name().equals("key") && header.apply(0).dataType() instanceof StringType
            && header.apply(1).name().equals("value") && header.apply(1).dataType() instanceof BinaryType;
    }

    private static IllegalArgumentException unsupported(StructType schema, int at) {
        String name = schema.apply(at).name();
        String fix = switch (name) {
            case "topic" -> "string";
            case "partition" -> "int";
            case "timestamp" -> "timestamp";
            case "headers" -> "array<struct<key:string,value:binary>>";
            default -> "string or binary";
        };
        return new IllegalArgumentException(name + " attribute unsupported type "
            + schema.apply(at).dataType().catalogString() + "; cast it to " + fix);
    }
}
