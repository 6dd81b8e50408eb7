package io.kafkastore.spark;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A planned read, or one batch of a stream, that gives rows in place of columns; see {@link RowsForConsumers}. */
final class RowScan implements Scan, Batch {
    private final KafkastoreScan planned;

    RowScan(KafkastoreScan planned) {
        this.planned = planned;
    }

    @Override
    public StructType readSchema() {
        return planned.readSchema();
    }

    @Override
    public String description() {
        return planned.description() + ", rows";
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public ColumnarSupportMode columnarSupportMode() {
        return ColumnarSupportMode.UNSUPPORTED;
    }

    @Override
    public InputPartition[] planInputPartitions() {
        return planned.planInputPartitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return planned.createReaderFactory();
    }
}
