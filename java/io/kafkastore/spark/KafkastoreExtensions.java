package io.kafkastore.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import scala.util.Properties;

/**
 * {@code spark.sql.extensions}: what Spark does not ask a source to do by itself. See {@link SizesForLengths} and {@link
 * RowsForConsumers}. In Spark 3.5, whose Scala 2.12 has other collections, it adds nothing.
 */
public final class KafkastoreExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    @SuppressWarnings({"unchecked", "rawtypes"}) // the session's class differs between Spark 3.5 and 4
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        if (!Properties.versionNumberString().startsWith("2.12.")) {
            Function1 rule = session -> new SizesForLengths();
            extensions.injectOptimizerRule(rule);
            Function1 columnar = session -> new ColumnarRule() {
                @Override
                public Rule<SparkPlan> preColumnarTransitions() {
                    return new RowsForConsumers();
                }
            };
            extensions.injectColumnar(columnar);
        }
        return BoxedUnit.UNIT;
    }
}
