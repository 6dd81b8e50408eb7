package io.kafkastore.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.Metadata;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;

/**
 * Reads the sizes of keys and values in place of {@code length(key)} and {@code length(value)}, so that their bytes do
 * not leave the scan. Spark pushes the length of a string down to a source, that of a binary column it does not.
 *
 * <p>Looks at what a projection or an aggregation computes of the columns of a relation, with nothing but filters and
 * plain projections between them; leaves all else alone.
 */
final class SizesForLengths extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        LogicalPlan node = mapChildren(plan);
        if (!(node instanceof Project) && !(node instanceof Aggregate)) {
            return node;
        }
        Exposed exposed = new Exposed();
        exposed.collect(node);
        if (node instanceof Aggregate aggregate) {
            exposed.leaveOut(aggregate.groupingExpressions());
        }
        LogicalPlan child = children(node).get(0);
        for (AttributeReference column : Map.copyOf(exposed.columns).values()) {
            child = exposed.expose(child, column).orElse(child);
        }
        if (exposed.sizes.isEmpty()) {
            return node;
        }
        LogicalPlan above = (LogicalPlan) node.withNewChildren(seq(List.of(child)));
        return (LogicalPlan) ((QueryPlan<?>) above).mapExpressions(Trees.function(exposed::replace));
    }

    private LogicalPlan mapChildren(LogicalPlan plan) {
        return (LogicalPlan) plan.mapChildren(Trees.function(child -> apply((LogicalPlan) child)));
    }

    /** The columns whose length one node computes, and the sizes that its child gives for them. */
    private static final class Exposed {
        private final Map<ExprId, AttributeReference> columns = new HashMap<>();
        private final Map<ExprId, AttributeReference> sizes = new HashMap<>();

        void collect(LogicalPlan node) {
            JavaConverters.seqAsJavaList(((QueryPlan<?>) node).expressions()).forEach(this::collect);
        }

        private void collect(Expression expression) {
            if (expression instanceof Length length && length.child() instanceof AttributeReference column
                && column.dataType() instanceof BinaryType) {
                columns.put(column.exprId(), column);
            }
            JavaConverters.seqAsJavaList(expression.children()).forEach(this::collect);
        }

        /** Columns by which rows are grouped: what is computed from a group is computed from those. */
        void leaveOut(Seq<Expression> grouping) {
            JavaConverters.seqAsJavaList(grouping).forEach(this::leaveOut);
        }

        private void leaveOut(Expression expression) {
            if (expression instanceof AttributeReference column) {
                columns.remove(column.exprId());
            } else if (!(expression instanceof Length)) {
                leaveOut(expression.children());
            }
        }

        Expression replace(Expression expression) {
            if (expression instanceof Length length && length.child() instanceof AttributeReference column
                && sizes.containsKey(column.exprId())) {
                return sizes.get(column.exprId());
            }
            return (Expression) expression.mapChildren(Trees.function(child -> replace((Expression) child)));
        }

        /** The plan with one more column, the size of the given one; empty when it has not that column from a topic. */
        Optional<LogicalPlan> expose(LogicalPlan plan, AttributeReference column) {
            if (plan instanceof DataSourceV2Relation relation) {
                return relation.table() instanceof KafkastoreTable ? exposeIn(relation, column) : Optional.empty();
            }
            boolean isPlain = plan instanceof Filter || plan instanceof Project;
            if (!isPlain || !plan.outputSet().contains(column)) {
                return Optional.empty();
            }
            return expose(children(plan).get(0), column).map(child -> {
                if (plan instanceof Project project) {
                    List<NamedExpression> names =
                        new ArrayList<>(JavaConverters.seqAsJavaList(project.projectList()));
                    names.add(sizes.get(column.exprId()));
                    return new Project(seq(names), child);
                }
                return (LogicalPlan) plan.withNewChildren(seq(List.of(child)));
            });
        }

        private Optional<LogicalPlan> exposeIn(DataSourceV2Relation relation, AttributeReference column) {
            String name = column.name().equals(Columns.KEY) ? "serializedKeySize"
                : column.name().equals(Columns.VALUE) ? "serializedValueSize" : "";
            List<AttributeReference> output =
                new ArrayList<>(JavaConverters.seqAsJavaList(relation.output()));
            boolean hasColumn = output.stream().anyMatch(one -> one.exprId().equals(column.exprId()));
            if (name.isEmpty() || !hasColumn) {
                return Optional.empty();
            }
            Optional<AttributeReference> known = output.stream().filter(one -> one.name().equals(name)).findFirst();
            AttributeReference size = known.orElseGet(() -> sizeOf(name));
            sizes.put(column.exprId(), size);
            if (known.isPresent()) {
                return Optional.of(relation);
            }
            output.add(size);
            return Optional.of((LogicalPlan) Trees.replaced(relation, relation.output(), seq(output)));
        }
    }

    private static AttributeReference sizeOf(String name) {
        return new AttributeReference(
            name, Columns.own(name).dataType(), true, Metadata.empty(), NamedExpression.newExprId(), seq(List.of()));
    }

    private static List<LogicalPlan> children(LogicalPlan plan) {
        return JavaConverters.seqAsJavaList(plan.children());
    }

    private static <T> Seq<T> seq(List<T> list) {
        return JavaConverters.asScalaBuffer(list).toList();
    }
}
