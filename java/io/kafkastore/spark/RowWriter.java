package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * Writes the rows of a task. Its commit returns when every record is acknowledged; in an exactly-once write the records
 * are then in an open transaction of the task's own, which the driver ends.
 */
final class RowWriter implements DataWriter<InternalRow> {
    /** How often a writer that waits for brokers looks whether its task was killed. */
    private static final long LOOK_MS = 200;

    private final long handle;
    private final RowBlock block;
    private final boolean isRepeated;
    private long rows;
    private long bytes;

    RowWriter(RowColumns columns, ObjectNode request, boolean isRepeated) {
        this.isRepeated = isRepeated;
        block = new RowBlock(columns);
        handle = NativeProducer.open(request.toString());
    }

    /** What a task has written: its open transaction as JSON, or null, and whether an earlier attempt failed. */
    record Written(String transaction, boolean isRepeated) implements WriterCommitMessage { }

    @Override
    public void write(InternalRow row) {
        block.append(row);
        rows++;
        if (block.isFull()) {
            send();
        }
    }

    private void send() {
        boolean hasRoom = NativeProducer.append(handle, block.bytes(), block.size());
        block.clear();
        while (!hasRoom) {
            failIfKilled();
            hasRoom = NativeProducer.drain(handle, LOOK_MS);
        }
    }

    @Override
    public WriterCommitMessage commit() {
        if (block.size() > 0) {
            send();
        }
        String answer = NativeProducer.flush(handle, LOOK_MS);
        while (answer == null) {
            failIfKilled();
            answer = NativeProducer.flush(handle, LOOK_MS);
        }
        JsonNode written = Json.parse(answer);
        bytes = written.get("bytes").asLong();
        JsonNode transaction = written.get("transaction");
        return new Written(transaction.isNull() ? null : transaction.toString(), isRepeated);
    }

    private static void failIfKilled() {
        TaskContext context = TaskContext.get();
        if (context != null && context.isInterrupted() || Thread.currentThread().isInterrupted()) {
            throw new KafkastoreException("the task was killed while it waited for brokers");
        }
    }

    @Override
    public void abort() {
        NativeProducer.discard(handle);
    }

    @Override
    public void close() {
        NativeProducer.close(handle);
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return new CustomTaskMetric[] {WriteMetric.value(WriteMetric.ROWS, rows),
            WriteMetric.value(WriteMetric.BYTES, bytes)};
    }
}
