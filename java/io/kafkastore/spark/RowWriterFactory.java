package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

/** Makes the writers of the tasks. Spark sends it to the executors. */
final class RowWriterFactory implements DataWriterFactory, StreamingDataWriterFactory {
    private static final long serialVersionUID = 1;
    private static final String IS_CONTINUOUS = "__is_continuous_processing";

    private final RowColumns columns;
    private final Map<String, String> options;
    private final String topic;
    private final String taskPrefix;
    private final long decided;

    /**
     * {@code taskPrefix} is what the transactional ids of the tasks begin with, null without transactions; batches up
     * to {@code decided} are written already.
     */
    RowWriterFactory(RowColumns columns, Map<String, String> options, String topic, String taskPrefix, long decided) {
        this.columns = columns;
        this.options = options;
        this.topic = topic;
        this.taskPrefix = taskPrefix;
        this.decided = decided;
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partitionId, long taskId) {
        TaskContext task = TaskContext.get();
        boolean isRepeated = task.attemptNumber() > 0 || task.stageAttemptNumber() > 0;
        ObjectNode request = Json.object();
        options.forEach(request.putObject("options")::put);
        request.put("topic", topic);
        request.put("transactionalId", taskPrefix == null ? null
            : taskPrefix + partitionId + "-" + task.stageAttemptNumber() + "-" + task.attemptNumber());
        return new RowWriter(columns, request, isRepeated);
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partitionId, long taskId, long epochId) {
        if (taskPrefix != null && "true".equals(TaskContext.get().getLocalProperty(IS_CONTINUOUS))) {
            throw new IllegalArgumentException(SinkOptions.GUARANTEE + ": exactly-once is not possible with a"
                + " continuous trigger; use Trigger.ProcessingTime or Trigger.AvailableNow");
        }
        if (taskPrefix != null && epochId <= decided) {
            return new Skipping();
        }
        return createWriter(partitionId, taskId);
    }

    /** The writer for a batch that was written before a restart. */
    private static final class Skipping implements DataWriter<InternalRow> {
        @Override
        public void write(InternalRow row) { }

        @Override
        public WriterCommitMessage commit() {
            return new RowWriter.Written(null, false);
        }

        @Override
        public void abort() { }

        @Override
        public void close() { }

        @Override
        public CustomTaskMetric[] currentMetricsValues() {
            return new CustomTaskMetric[0];
        }
    }
}
