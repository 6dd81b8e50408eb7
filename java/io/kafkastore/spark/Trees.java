package io.kafkastore.spark;

import java.util.function.Function;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function1;
import scala.Product;
import scala.collection.JavaConverters;

/** What Java needs to change the trees of Spark's plans, whose types are Scala's. */
final class Trees {
    private Trees() { }

    /** A copy of the node with another value in the place of one that it was made with. */
    static TreeNode<?> replaced(TreeNode<?> node, Object old, Object other) {
        Object[] arguments = JavaConverters.seqAsJavaList(((Product) node).productIterator().toSeq()).toArray();
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = arguments[i] == old ? other : arguments[i];
        }
        return node.makeCopy(arguments);
    }

    @SuppressWarnings("unchecked") // Scala's types of a tree's nodes are not Java's
    static <A, B, F extends Function1<?, ?>> F function(Function<A, B> body) {
        Function1<A, B> found = body::apply;
        return (F) found;
    }
}
