package io.kafkastore.spark;

import java.util.function.Function;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;

/**
 * Lets a read give rows where whatever is above it takes rows as they are: a write, a shuffle, a collect. Generated
 * code, which takes single values out of columns, gets columns as before.
 */
final class RowsForConsumers extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
        return visit(plan, true);
    }

    private SparkPlan visit(SparkPlan plan, boolean takesRows) {
        if (plan instanceof BatchScanExec read) {
            return takesRows ? withRows(read, read.scan()) : read;
        }
        if (plan instanceof MicroBatchScanExec read) {
            return takesRows ? withRows(read, read.scan()) : read;
        }
        boolean isCode = plan instanceof CodegenSupport code && code.supportCodegen();
        boolean childrenGiveRows = !isCode && !plan.supportsColumnar();
        Function<SparkPlan, SparkPlan> visit = child -> visit(child, childrenGiveRows);
        return (SparkPlan) plan.mapChildren(Trees.function(visit));
    }

    /** The stream of a batch stays the same one: Spark tells its progress by it. */
    private static SparkPlan withRows(SparkPlan read, Scan scan) {
        if (!(scan instanceof KafkastoreScan planned) || !ShareRows.canGive(scan.readSchema())) {
            return read;
        }
        return (SparkPlan) Trees.replaced(read, scan, new RowScan(planned));
    }
}
