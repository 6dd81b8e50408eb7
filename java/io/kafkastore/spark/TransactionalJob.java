package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * The driver's part of a job or of a batch: begins it, and ends the transactions of its tasks all the same way. Without
 * transactions there is nothing to do: what tasks have flushed is written.
 */
final class TransactionalJob {
    private static final long NONE = -1;

    private final SinkOptions options;
    private final String queryId;
    private long decided = NONE;
    private boolean isBegun;

    /** {@code queryId} is that of a streaming query, null of a batch. */
    TransactionalJob(SinkOptions options, String queryId) {
        this.options = options;
        this.queryId = queryId;
    }

    RowWriterFactory begin(RowColumns columns) {
        if (!options.isExactlyOnce()) {
            return new RowWriterFactory(columns, options.all(), options.topic(), null, NONE);
        }
        ObjectNode request = request();
        options.all().forEach(request.putObject("options")::put);
        request.put("queryId", queryId);
        JsonNode begun = Json.parse(NativeProducer.begin(request.toString()));
        isBegun = true;
        decided = begun.get("decided").asLong(NONE);
        String taskPrefix = begun.get("taskPrefix").asText();
        return new RowWriterFactory(columns, options.all(), options.topic(), taskPrefix, decided);
    }

    /** {@code batch} is that of a streaming query, null of a batch. */
    void commit(Long batch, WriterCommitMessage[] messages) {
        boolean isWritten = batch != null && batch <= decided;
        if (!isBegun || isWritten) {
            return;
        }
        // a commit that fails has aborted everything, or its decision stands and the next begin carries it out
        isBegun = false;
        ObjectNode request = request();
        request.put("batch", batch);
        boolean hasLostTasks = putTransactions(request, messages);
        request.put("hasLostTasks", hasLostTasks);
        NativeProducer.commit(request.toString());
    }

    void abort(WriterCommitMessage[] messages) {
        if (!isBegun) {
            return;
        }
        isBegun = false;
        ObjectNode request = request();
        putTransactions(request, messages);
        NativeProducer.abort(request.toString());
    }

    private ObjectNode request() {
        return Json.object().put("prefix", options.prefix());
    }

    /** Whether an attempt of a task was lost. Spark has no message, null, of a task that failed. */
    private static boolean putTransactions(ObjectNode request, WriterCommitMessage[] messages) {
        ArrayNode transactions = request.putArray("transactions");
        boolean hasLostTasks = false;
        for (WriterCommitMessage message : messages) {
            if (message instanceof RowWriter.Written written) {
                hasLostTasks |= written.isRepeated();
                if (written.transaction() != null) {
                    transactions.add(Json.parse(written.transaction()));
                }
            }
        }
        return hasLostTasks;
    }
}
