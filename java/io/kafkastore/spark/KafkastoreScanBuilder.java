package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Takes what the scan can do in place of Spark: columns, filters, limits, counts and extents. */
final class KafkastoreScanBuilder
    implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters, SupportsPushDownAggregates,
        SupportsPushDownLimit {
    static final int NO_LIMIT = -1;

    private final CaseInsensitiveStringMap options;
    private final StructType schema;
    private final Values values;
    private StructType columns;
    private Filter[] taken = new Filter[0];
    private ArrayNode takenAsJson = Json.array();
    private HeaderAggregates aggregates;
    private Optional<List<JsonNode>> summary;
    private int limit = NO_LIMIT;

    KafkastoreScanBuilder(StructType schema, Values values, CaseInsensitiveStringMap options) {
        this.options = options;
        this.schema = schema;
        this.values = values;
        this.columns = schema;
    }

    @Override
    public void pruneColumns(StructType required) {
        columns = Columns.withOwnTypes(required);
    }

    @Override
    public Filter[] pushFilters(Filter[] filters) {
        ArrayNode all = Json.array();
        for (Filter filter : filters) {
            all.add(Filters.asJson(filter));
        }
        ObjectNode request = Json.object();
        request.set("filters", all);
        ArrayNode names = request.putArray("columns");
        for (String name : schema.fieldNames()) {
            names.add(name);
        }
        Set<Integer> indexes = new HashSet<>();
        for (JsonNode index : Json.parse(Native.push(request.toString())).get("taken")) {
            indexes.add(index.asInt());
        }
        List<Filter> kept = new ArrayList<>();
        List<Filter> left = new ArrayList<>();
        takenAsJson = Json.array();
        for (int i = 0; i < filters.length; i++) {
            if (indexes.contains(i)) {
                kept.add(filters[i]);
                takenAsJson.add(all.get(i));
            } else {
                left.add(filters[i]);
            }
        }
        taken = kept.toArray(new Filter[0]);
        return left.toArray(new Filter[0]);
    }

    @Override
    public Filter[] pushedFilters() {
        return taken;
    }

    @Override
    public boolean supportCompletePushDown(Aggregation aggregation) {
        return !values.dropsRecords() && HeaderAggregates.of(aggregation, taken).isPresent() && summary().isPresent();
    }

    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        if (values.dropsRecords()) {
            return false; // headers do not tell which values are malformed
        }
        aggregates = HeaderAggregates.of(aggregation, taken).filter(found -> summary().isPresent()).orElse(null);
        return aggregates != null;
    }

    /** What the headers say, read once for a query; empty when they are not in files that the driver sees. */
    private Optional<List<JsonNode>> summary() {
        if (summary == null) {
            summary = new Read(options.asCaseSensitiveMap(), takenAsJson).summarise();
        }
        return summary;
    }

    @Override
    public boolean pushLimit(int wanted) {
        limit = wanted;
        return true;
    }

    @Override
    public boolean isPartiallyPushed() {
        return true; // each task ends at the limit; Spark ends the whole
    }

    @Override
    public Scan build() {
        if (aggregates != null) {
            return new HeaderScan(aggregates, summary().orElseThrow());
        }
        return new KafkastoreScan(columns, values, options, takenAsJson, taken, limit);
    }
}
