package io.kafkastore.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Where {@code df.write.format("kafkastore")} goes on. Spark saves to a table of DataSource V2 only with the mode
 * append, and {@code save()} alone means another mode; Spark's Kafka sink takes both, as a source of V1. So does ours:
 * {@link KafkastoreProvider} has no batch writes, so that Spark saves to it as to a V1 source, and it saves here, to
 * V2.
 */
public final class BatchSink implements TableProvider {
    /** Appends the rows; what is left of the relation is never read. */
    static BaseRelation save(
        SQLContext context, SaveMode mode, scala.collection.immutable.Map<String, String> options, Dataset<Row> rows) {
        if (mode != SaveMode.Append && mode != SaveMode.ErrorIfExists) {
            throw new IllegalArgumentException("mode: " + mode.name().toLowerCase(java.util.Locale.ROOT)
                + " is not allowed for Kafka; say append, or nothing");
        }
        rows.write().format(BatchSink.class.getName()).mode(SaveMode.Append).options(options).save();
        return new BaseRelation() {
            @Override
            public SQLContext sqlContext() {
                return context;
            }

            @Override
            public StructType schema() {
                throw new UnsupportedOperationException("a relation of what was written is not read");
            }
        };
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return new StructType();
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new SinkTable(schema);
    }

    /** Takes rows, and has none to give. */
    private record SinkTable(StructType rows) implements SupportsWrite {
        @Override
        public String name() {
            return "kafkastore";
        }

        @Override
        public StructType schema() {
            return rows;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
        }

        @Override
        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            return new KafkastoreWrite.Builder(info);
        }
    }
}
