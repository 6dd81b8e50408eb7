package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Base64;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;

/** Spark's filters as the planner reads them. It decides nothing: {@link Native#push} says which a scan applies. */
final class Filters {
    private static final long MICROS = 1_000_000;

    private Filters() { }

    /** {@code {"column", "op", "values"}}; an op that the planner does not know for any other filter. */
    static ObjectNode asJson(Filter filter) {
        if (filter instanceof EqualTo f) {
            return one("EqualTo", f.attribute(), f.value());
        }
        if (filter instanceof EqualNullSafe f) {
            return one("EqualNullSafe", f.attribute(), f.value());
        }
        if (filter instanceof GreaterThan f) {
            return one("GreaterThan", f.attribute(), f.value());
        }
        if (filter instanceof GreaterThanOrEqual f) {
            return one("GreaterThanOrEqual", f.attribute(), f.value());
        }
        if (filter instanceof LessThan f) {
            return one("LessThan", f.attribute(), f.value());
        }
        if (filter instanceof LessThanOrEqual f) {
            return one("LessThanOrEqual", f.attribute(), f.value());
        }
        if (filter instanceof In f) {
            return one("In", f.attribute(), f.values());
        }
        if (filter instanceof IsNull f) {
            return one("IsNull", f.attribute());
        }
        if (filter instanceof IsNotNull f) {
            return one("IsNotNull", f.attribute());
        }
        return one("other", "");
    }

    private static ObjectNode one(String op, String column, Object... values) {
        ObjectNode node = Json.object().put("column", column);
        ArrayNode list = Json.array();
        boolean isKnown = true;
        for (Object value : values) {
            isKnown &= add(list, value);
        }
        node.put("op", isKnown ? op : "other");
        node.set("values", list);
        return node;
    }

    /** Whether the value is of a type that a column of ours has. */
    private static boolean add(ArrayNode list, Object value) {
        if (value == null) {
            list.addNull();
        } else if (value instanceof String text) {
            list.add(text);
        } else if (value instanceof Integer || value instanceof Long) {
            list.add(((Number) value).longValue());
        } else if (value instanceof byte[] bytes) {
            list.add(Base64.getEncoder().encodeToString(bytes));
        } else if (value instanceof Timestamp time) {
            list.add(micros(time.toInstant()));
        } else if (value instanceof Instant time) {
            list.add(micros(time));
        } else {
            return false;
        }
        return true;
    }

    private static long micros(Instant time) {
        return Math.addExact(Math.multiplyExact(time.getEpochSecond(), MICROS), time.getNano() / 1000);
    }
}
