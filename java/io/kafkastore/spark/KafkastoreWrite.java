package io.kafkastore.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/** A query whose rows become records. Options and columns are checked when the query is planned. */
final class KafkastoreWrite implements Write {
    private final SinkOptions options;
    private final RowColumns columns;
    private final String queryId;

    private KafkastoreWrite(LogicalWriteInfo info) {
        options = SinkOptions.of(info.options(), info.queryId());
        columns = RowColumns.of(info.schema(), options.topic(), options.includesTimestamps());
        queryId = info.queryId();
    }

    /** As Spark's Kafka sink: what is updated, and a complete result, is appended. */
    static final class Builder implements WriteBuilder, SupportsTruncate, SupportsStreamingUpdateAsAppend {
        private final LogicalWriteInfo info;

        Builder(LogicalWriteInfo info) {
            this.info = info;
        }

        @Override
        public WriteBuilder truncate() {
            return this;
        }

        @Override
        public Write build() {
            return new KafkastoreWrite(info);
        }
    }

    @Override
    public String description() {
        String topic = options.topic() == null ? "the topics of the column topic" : options.topic();
        return "kafkastore " + topic + (options.isExactlyOnce() ? ", exactly-once" : ", at-least-once");
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return WriteMetric.all();
    }

    @Override
    public BatchWrite toBatch() {
        TransactionalJob job = new TransactionalJob(options, null);
        return new BatchWrite() {
            @Override
            public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
                return job.begin(columns);
            }

            @Override
            public void commit(WriterCommitMessage[] messages) {
                job.commit(null, messages);
            }

            @Override
            public void abort(WriterCommitMessage[] messages) {
                job.abort(messages);
            }

            @Override
            public String toString() {
                return description();
            }
        };
    }

    @Override
    public StreamingWrite toStreaming() {
        TransactionalJob job = new TransactionalJob(options, queryId);
        return new StreamingWrite() {
            @Override
            public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
                return job.begin(columns);
            }

            @Override
            public void commit(long epochId, WriterCommitMessage[] messages) {
                job.commit(epochId, messages);
            }

            @Override
            public void abort(long epochId, WriterCommitMessage[] messages) {
                job.abort(messages);
            }

            @Override
            public String toString() {
                return description();
            }
        };
    }
}
