package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Stages the rows of a bulk load in Spark's tasks (docs/bulk-load.md): each attempt of a task builds segments beside
 * the logs of the partitions' leaders. {@code kafkastore.spark.load} calls it, and decides about what was staged.
 */
public final class BulkLoad {
    private static final Set<String> COLUMNS = Set.of("key", "value", "timestamp", "headers", "partition");
    /** Columns of a scan that a load does not need. */
    private static final Set<String> IGNORED = Set.of("topic", "offset", "timestampType");

    private BulkLoad() { }

    /**
     * Runs a task for each partition of the rows. {@code request} is that of {@link NativeLoad#open}.
     *
     * @return {@code {"staged": [what each task has staged]}}, or {@code {"error": sentence, "isMistake"}} for a
     *     sentence of ours; an error of Spark, or of the query that gives the rows, is thrown
     */
    public static String stage(RDD<InternalRow> rows, StructType schema, String request) {
        ObjectNode answer = Json.object();
        try {
            Stage stage = new Stage(columns(schema), request);
            ArrayNode staged = answer.putArray("staged");
            rows.toJavaRDD().mapPartitionsWithIndex(stage, true).collect()
                .forEach(one -> staged.add(Json.parse(one)));
        } catch (Exception error) { // an error of a job is none of Java's unchecked ones
            Failure failure = causeOf(error, Failure.class);
            if (failure == null) {
                SparkRuntimeException ofQuery = causeOf(error, SparkRuntimeException.class);
                if (ofQuery != null) {
                    throw ofQuery;
                }
                throw error;
            }
            answer.removeAll();
            answer.put("error", failure.getMessage()).put("isMistake", failure.isMistake);
        }
        return answer.toString();
    }

    private static RowColumns columns(StructType schema) {
        for (String name : schema.fieldNames()) {
            if (!COLUMNS.contains(name) && !IGNORED.contains(name)) {
                throw new Failure("column " + name + ": a load takes key, value, timestamp, headers and partition;"
                    + " leave it out", true);
            }
        }
        try {
            return RowColumns.of(schema, "", true);
        } catch (IllegalArgumentException error) {
            throw new Failure(error.getMessage(), true);
        }
    }

    /** The first error of the class among the causes; null when there is none. */
    private static <T> T causeOf(Throwable error, Class<T> wanted) {
        Throwable at = error;
        while (at != null && !wanted.isInstance(at)) {
            at = at.getCause();
        }
        return wanted.cast(at);
    }

    /** A sentence of ours, told apart from errors of the query that gives the rows. */
    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final boolean isMistake;

        Failure(String sentence, boolean isMistake) {
            super(sentence);
            this.isMistake = isMistake;
        }
    }

    /** What one task does. */
    private static final class Stage implements Function2<Integer, Iterator<InternalRow>, Iterator<String>> {
        private static final long serialVersionUID = 1;

        private final RowColumns columns;
        private final String request;

        Stage(RowColumns columns, String request) {
            this.columns = columns;
            this.request = request;
        }

        @Override
        public Iterator<String> call(Integer task, Iterator<InternalRow> rows) {
            long handle = ours(() -> NativeLoad.open(request));
            try {
                RowBlock block = new RowBlock(columns);
                while (rows.hasNext()) {
                    append(block, rows.next());
                    if (block.isFull()) {
                        build(handle, block);
                    }
                }
                build(handle, block);
                return List.of(ours(() -> NativeLoad.finish(handle))).iterator();
            } finally {
                NativeLoad.close(handle);
            }
        }

        private static void append(RowBlock block, InternalRow row) {
            try {
                block.append(row);
            } catch (IllegalArgumentException error) {
                throw new Failure(error.getMessage(), true);
            }
        }

        private static void build(long handle, RowBlock block) {
            ours(() -> {
                NativeLoad.append(handle, block.bytes(), block.size());
                return null;
            });
            block.clear();
        }

        private static <T> T ours(Supplier<T> call) {
            try {
                return call.get();
            } catch (IllegalArgumentException error) {
                throw new Failure(error.getMessage(), true);
            } catch (KafkastoreException error) {
                throw new Failure(error.getMessage(), false);
            }
        }
    }
}
