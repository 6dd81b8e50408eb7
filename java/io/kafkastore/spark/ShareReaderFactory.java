package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;

/** Makes the readers of the tasks. Spark sends it to the executors. */
final class ShareReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;
    private static final int BATCH_ROWS = 16_384;
    private static final int BATCH_BYTES = 1 << 20; // stays in a processor's cache until Spark has read it

    private final StructType columns;
    private final Values values;
    private final TreeMap<String, String> security;
    private final int limit;

    ShareReaderFactory(StructType columns, Values values, Map<String, String> options, int limit) {
        this.columns = columns;
        this.values = values;
        this.security = securityOf(options);
        this.limit = limit;
    }

    /** How a task connects to brokers, which no plan of a query shows. */
    private static TreeMap<String, String> securityOf(Map<String, String> options) {
        TreeMap<String, String> found = new TreeMap<>();
        options.forEach((name, value) -> {
            if (CommandConfig.isSecurity(name)) {
                found.put(name.toLowerCase(Locale.ROOT), value);
            }
        });
        return found;
    }

    /** What Spark does unless a {@link RowScan} says otherwise. */
    @Override
    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        return new ShareRows(createColumnarReader(partition), columns);
    }

    @Override
    public ShareReader createColumnarReader(InputPartition partition) {
        KafkastoreScan.SharePartition share = (KafkastoreScan.SharePartition) partition;
        ObjectNode request = (ObjectNode) Json.parse(share.scan());
        ArrayNode splits = request.putArray("splits");
        for (String split : share.splits()) {
            splits.add(split);
        }
        ArrayNode names = request.putArray("columns");
        for (String name : columns.fieldNames()) {
            names.add(Columns.own(name).name());
        }
        ObjectNode kafka = request.putObject("kafka");
        security.forEach(kafka::put);
        values.addTo(request, columns);
        int rows = limit == KafkastoreScanBuilder.NO_LIMIT ? BATCH_ROWS : Math.max(1, Math.min(BATCH_ROWS, limit));
        request.put("batchRows", rows);
        request.put("batchBytes", BATCH_BYTES);
        return new ShareReader(columns, Native.open(request.toString()), limit, share.lease());
    }
}
