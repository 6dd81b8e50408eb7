package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Aggregates that the headers of batches answer: counts of rows, and the least and greatest offset, partition, topic
 * and timestamp, of everything or by topic and partition.
 */
final class HeaderAggregates {
    private static final Set<String> NEVER_NULL =
        Set.of("topic", "partition", "offset", "timestamp", "timestamptype");
    private static final long MICROS_A_MILLI = 1000;

    /** One value of a group, from the rows of {@link Native#summarise}. */
    private interface Value {
        Object of(List<JsonNode> partitions);
    }

    private final StructType schema;
    private final List<String> groups;
    private final List<Value> values;

    private HeaderAggregates(StructType schema, List<String> groups, List<Value> values) {
        this.schema = schema;
        this.groups = groups;
        this.values = values;
    }

    /** Empty when a record's own bytes decide, as with a filter on keys. */
    static Optional<HeaderAggregates> of(Aggregation aggregation, Filter[] taken) {
        if (Arrays.stream(taken).anyMatch(filter -> Arrays.asList(filter.references()).contains(Columns.KEY))) {
            return Optional.empty();
        }
        boolean hasTimes = Arrays.stream(taken)
            .anyMatch(filter -> Arrays.asList(filter.references()).contains(Columns.TIMESTAMP));
        StructType schema = new StructType();
        List<String> groups = new ArrayList<>();
        for (Expression expression : aggregation.groupByExpressions()) {
            String name = nameOf(expression);
            if (name.equals(Columns.TOPIC)) {
                schema = schema.add(name, DataTypes.StringType);
            } else if (name.equals(Columns.PARTITION)) {
                schema = schema.add(name, DataTypes.IntegerType);
            } else {
                return Optional.empty();
            }
            groups.add(name);
        }
        List<Value> values = new ArrayList<>();
        for (AggregateFunc function : aggregation.aggregateExpressions()) {
            String name = "value" + values.size();
            if (function instanceof CountStar || isCountOfAll(function)) {
                schema = schema.add(name, DataTypes.LongType);
                values.add(HeaderAggregates::count);
                continue;
            }
            boolean isLeast = function instanceof Min;
            if (!isLeast && !(function instanceof Max)) {
                return Optional.empty();
            }
            String column = nameOf(isLeast ? ((Min) function).column() : ((Max) function).column());
            if (column.equals(Columns.OFFSET)) {
                schema = schema.add(name, DataTypes.LongType);
                values.add(extreme(isLeast ? "minOffset" : "maxOffset", isLeast, 1));
            } else if (column.equals(Columns.TIMESTAMP) && !isLeast && !hasTimes) {
                schema = schema.add(name, DataTypes.TimestampType);
                values.add(extreme("maxTimestampMs", false, MICROS_A_MILLI));
            } else {
                return Optional.empty();
            }
        }
        return Optional.of(new HeaderAggregates(schema, groups, values));
    }

    private static boolean isCountOfAll(AggregateFunc function) {
        return function instanceof Count count && !count.isDistinct() && NEVER_NULL.contains(nameOf(count.column()));
    }

    /** The column's name, in small letters; empty for any other expression. */
    private static String nameOf(Expression expression) {
        boolean isColumn = expression instanceof NamedReference name && name.fieldNames().length == 1;
        return isColumn ? ((NamedReference) expression).fieldNames()[0].toLowerCase(java.util.Locale.ROOT) : "";
    }

    private static Object count(List<JsonNode> partitions) {
        return partitions.stream().mapToLong(partition -> partition.get("records").asLong()).sum();
    }

    private static Value extreme(String field, boolean isLeast, long scale) {
        return partitions -> {
            Long found = null;
            for (JsonNode partition : partitions) {
                long value = partition.get(field).asLong() * scale;
                found = found == null ? value : isLeast ? Math.min(found, value) : Math.max(found, value);
            }
            return found;
        };
    }

    StructType schema() {
        return schema;
    }

    /** A row for each group that has records; one row when there are no groups. */
    InternalRow[] rows(List<JsonNode> partitions) {
        Map<List<Object>, List<JsonNode>> grouped = new LinkedHashMap<>();
        if (groups.isEmpty()) {
            grouped.put(List.of(), new ArrayList<>());
        }
        for (JsonNode partition : partitions) {
            if (partition.get("records").asLong() > 0) {
                grouped.computeIfAbsent(groupOf(partition), group -> new ArrayList<>()).add(partition);
            }
        }
        List<InternalRow> rows = new ArrayList<>();
        grouped.forEach((group, its) -> {
            List<Object> row = new ArrayList<>(group);
            values.forEach(value -> row.add(value.of(its)));
            rows.add(new GenericInternalRow(row.toArray()));
        });
        return rows.toArray(new InternalRow[0]);
    }

    private List<Object> groupOf(JsonNode partition) {
        List<Object> found = new ArrayList<>();
        for (String group : groups) {
            boolean isTopic = group.equals(Columns.TOPIC);
            found.add(isTopic ? UTF8String.fromString(partition.get(group).asText()) : partition.get(group).asInt());
        }
        return found;
    }
}
