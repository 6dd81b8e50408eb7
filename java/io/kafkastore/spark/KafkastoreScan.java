package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Arrays;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A planned read. Its ranges of offsets are fixed when Spark first asks for them, on the driver. */
final class KafkastoreScan implements Scan, Batch, SupportsReportStatistics {
    private final StructType columns;
    private final Values values;
    private final CaseInsensitiveStringMap options;
    private final ArrayNode takenAsJson;
    private final Read read;
    private final Filter[] filters;
    private final int limit;
    private Read.Plan plan;
    private boolean isStream;

    KafkastoreScan(
        StructType columns, Values values, CaseInsensitiveStringMap options, ArrayNode takenAsJson, Filter[] filters,
        int limit) {
        this.columns = columns;
        this.values = values;
        this.options = options;
        this.takenAsJson = takenAsJson;
        this.read = new Read(options.asCaseSensitiveMap(), takenAsJson);
        this.filters = filters;
        this.limit = limit;
    }

    /** One task's share, how all are read, and the hosts that have most of it. */
    record SharePartition(String[] splits, String scan, String[] hosts, String lease) implements InputPartition {
        @Override
        public String[] preferredLocations() {
            return hosts;
        }
    }

    private synchronized Read.Plan plan() {
        if (plan == null) {
            plan = read.plan();
        }
        return plan;
    }

    @Override
    public StructType readSchema() {
        return columns;
    }

    @Override
    public String description() {
        String ranges = isStream ? "" : plan().ranges() + ", ";
        return "kafkastore " + ranges + "columns " + Columns.described(columns)
            + ", PushedFilters: " + Arrays.toString(filters)
            + (limit == KafkastoreScanBuilder.NO_LIMIT ? "" : ", limit " + limit);
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        isStream = true;
        return KafkastoreStream.of(columns, values, options, takenAsJson, checkpointLocation);
    }

    @Override
    public ColumnarSupportMode columnarSupportMode() {
        // a stream in real-time mode gives rows, and only its factory of readers knows
        return isStream ? ColumnarSupportMode.PARTITION_DEFINED : ColumnarSupportMode.SUPPORTED;
    }

    @Override
    public Statistics estimateStatistics() {
        OptionalLong bytes = isStream ? OptionalLong.empty() : OptionalLong.of(plan().sizeBytes());
        return new Statistics() {
            @Override
            public OptionalLong sizeInBytes() {
                return bytes;
            }

            @Override
            public OptionalLong numRows() {
                return OptionalLong.empty();
            }
        };
    }

    @Override
    public InputPartition[] planInputPartitions() {
        return plan().partitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new ShareReaderFactory(columns, values, options.asCaseSensitiveMap(), limit);
    }
}
