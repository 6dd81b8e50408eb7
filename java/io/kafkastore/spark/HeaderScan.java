package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Aggregates answered on the driver, from the headers of batches: no task runs and no record is read. */
final class HeaderScan implements LocalScan {
    private final HeaderAggregates aggregates;
    private final List<JsonNode> summary;

    HeaderScan(HeaderAggregates aggregates, List<JsonNode> summary) {
        this.aggregates = aggregates;
        this.summary = summary;
    }

    @Override
    public StructType readSchema() {
        return aggregates.schema();
    }

    @Override
    public String description() {
        return "kafkastore aggregates of batch headers: " + aggregates.schema().simpleString();
    }

    @Override
    public InternalRow[] rows() {
        return aggregates.rows(summary);
    }
}
