package io.kafkastore.spark;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The records that a read's options name, or where a stream's rows go. Opens nothing before a query is planned. */
final class KafkastoreTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns {
    private final StructType schema;
    private final Values values;

    KafkastoreTable(StructType schema, Values values) {
        this.schema = schema;
        this.values = values;
    }

    @Override
    public String name() {
        return "kafkastore";
    }

    @Override
    public StructType schema() {
        return schema;
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        return Arrays.stream(Columns.SIZES.fields()).map(Size::new).toArray(MetadataColumn[]::new);
    }

    private record Size(StructField field) implements MetadataColumn {
        @Override
        public String name() {
            return field.name();
        }

        @Override
        public DataType dataType() {
            return field.dataType();
        }
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ,
            TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        Columns.check(schema, values); // not earlier: a query that is written has columns of its own
        return new KafkastoreScanBuilder(schema, values, CommandConfig.read(options));
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new KafkastoreWrite.Builder(info);
    }
}
