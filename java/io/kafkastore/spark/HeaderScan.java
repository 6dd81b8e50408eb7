package io.kafkastore.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Aggregates answered on the driver, from the headers of batches: no task runs and no record is read. */
final class HeaderScan implements LocalScan {
    private final HeaderAggregates aggregates;
    private final Read read;

    HeaderScan(HeaderAggregates aggregates, Read read) {
        this.aggregates = aggregates;
        this.read = read;
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
        return aggregates.rows(read.summarise());
    }
}
