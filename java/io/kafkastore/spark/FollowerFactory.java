package io.kafkastore.spark;

import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/** Makes the readers of tasks in real-time mode, which takes rows and no batches. Spark sends it to the executors. */
final class FollowerFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    private final StructType columns;
    private final Values values;
    private final Map<String, String> options;
    private final String filters;

    FollowerFactory(StructType columns, Values values, Map<String, String> options, String filters) {
        this.columns = columns;
        this.values = values;
        this.options = options;
        this.filters = filters;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        Follower follower = new Follower((RealTimeStream.Followed) partition, columns, values, options, filters);
        TaskContext task = TaskContext.get();
        if (task != null) { // in this mode Spark closes no reader
            task.addTaskCompletionListener((TaskCompletionListener) ended -> follower.close());
        }
        return follower;
    }
}
