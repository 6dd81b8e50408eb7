package io.kafkastore.spark;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * {@code format("kafkastore")}: topics read from segment files, and rows written to topics. Options, columns and
 * meanings are those of Spark's Kafka source and sink; docs/spark.md has them.
 */
public final class KafkastoreProvider implements TableProvider, DataSourceRegister, CreatableRelationProvider {
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
        return new KafkastoreTable(schema, Values.of(properties));
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    /** A batch is written; see {@link BatchSink}. */
    @Override
    public BaseRelation createRelation(
        SQLContext context, SaveMode mode, scala.collection.immutable.Map<String, String> options, Dataset<Row> rows) {
        return BatchSink.save(context, mode, options, rows);
    }
}
