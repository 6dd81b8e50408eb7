package io.kafkastore.spark;

import java.util.function.Function;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import scala.Function1;
import scala.Product;
import scala.collection.JavaConverters;

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
        return (SparkPlan) plan.mapChildren(function(visit));
    }

    /** The stream of a batch stays the same one: Spark tells its progress by it. */
    private static SparkPlan withRows(SparkPlan read, Scan scan) {
        if (!(scan instanceof KafkastoreScan planned) || !ShareRows.canGive(scan.readSchema())) {
            return read;
        }
        Object[] arguments = JavaConverters.seqAsJavaList(((Product) read).productIterator().toSeq()).toArray();
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = arguments[i] == scan ? new RowScan(planned) : arguments[i];
        }
        return (SparkPlan) read.makeCopy(arguments);
    }

    @SuppressWarnings("unchecked") // Scala's types of a tree's nodes are not Java's
    private static <A, B, F extends Function1<?, ?>> F function(Function<A, B> body) {
        Function1<A, B> found = body::apply;
        return (F) found;
    }
}
