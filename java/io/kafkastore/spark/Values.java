package io.kafkastore.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BinaryType$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What the column {@code value} is: bytes, or with the option {@code valueFormat} a struct that the scan parses.
 *
 * @param type of the column
 * @param spec how values are parsed, for {@link Native#open}; null for bytes
 * @param dropsRecords whether records are left out when their value is malformed
 */
record Values(DataType type, String spec, boolean dropsRecords) implements Serializable {
    private static final String TIME_ZONE = "timezone";

    /** Of a read's options; a schema registry may be asked. IllegalArgumentException for a mistake in them. */
    static Values of(Map<String, String> options) {
        ObjectNode request = Json.object();
        ObjectNode given = request.putObject("options");
        new HashMap<>(options).forEach(given::put);
        if (options.keySet().stream().noneMatch(name -> name.equalsIgnoreCase(TIME_ZONE))) {
            given.put(TIME_ZONE, SQLConf.get().sessionLocalTimeZone());
        }
        JsonNode answer = Json.parse(Native.schema(request.toString()));
        JsonNode schema = answer.get("value");
        if (schema.isNull()) {
            return new Values(BinaryType$.MODULE$, null, false);
        }
        DataType type = DataType.fromJson(schema.toString());
        return new Values(type, answer.get("spec").toString(), answer.get("dropsRecords").asBoolean());
    }

    /** Adds to a request to open a scan of these columns how their values are parsed. */
    void addTo(ObjectNode request, StructType columns) {
        if (spec == null) {
            return;
        }
        ObjectNode values = request.putObject("values");
        values.set("spec", Json.parse(spec));
        for (String name : columns.fieldNames()) {
            if (name.equalsIgnoreCase(Columns.VALUE)) {
                values.set("wanted", Json.parse(columns.apply(name).dataType().json()));
            }
        }
    }
}
