package io.kafkastore.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * {@code format("kafkastore")}: topics read from segment files. Options, columns and meanings are those of Spark's
 * Kafka source; docs/spark.md has them.
 */
public final class KafkastoreProvider implements TableProvider, DataSourceRegister {
    @Override
    public String shortName() {
        return "kafkastore";
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return Columns.all(options.getBoolean("includeHeaders", false), Values.of(options.asCaseSensitiveMap()));
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        Values values = Values.of(properties);
        Columns.check(schema, values);
        return new KafkastoreTable(schema, values);
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }
}
