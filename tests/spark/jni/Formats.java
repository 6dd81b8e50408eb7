package io.kafkastore.spark;

import java.nio.file.Path;
import java.util.Map;
import java.util.Random;

/** Options of typed values that fit the topics which tests/spark/jni_fuzz.py writes, and others that do not. */
final class Formats {
    static final String JSON_SCHEMA = "id BIGINT, i INT, h SMALLINT, y TINYINT, d DOUBLE, f FLOAT, c DECIMAL(20, 3),"
        + " e DECIMAL(9, 2), s STRING, b BINARY, o BOOLEAN, day DATE, at TIMESTAMP, clock TIMESTAMP_NTZ, l ARRAY<INT>,"
        + " ls ARRAY<STRUCT<x: INT, z: STRING>>, ll ARRAY<ARRAY<BOOLEAN>>, m MAP<STRING, DOUBLE>,"
        + " n STRUCT<x: INT, in: STRUCT<p: STRING, q: BIGINT>>, _corrupt_record STRING";
    static final String CSV_SCHEMA = "a INT, b STRING, c DOUBLE, d DECIMAL(6,2), e DATE, f TIMESTAMP, g BOOLEAN";
    private static final String[] MODES = {"PERMISSIVE", "DROPMALFORMED", "FAILFAST"};

    private Formats() { }

    /** Mostly the format of the topic's values; any topic may be read with any format. */
    static void add(Map<String, String> options, String topic, Path root, Random random) {
        String[] formats = {"json", "csv", "avro", "protobuf"};
        String format = formats[random.nextInt(formats.length)];
        for (String one : formats) {
            if (one.equals(topic) && random.nextInt(5) != 0) {
                format = one;
            }
        }
        options.put("valueFormat", format);
        options.put("mode", random.nextInt(3) == 0 ? MODES[random.nextInt(MODES.length)] : "PERMISSIVE");
        options.put("timeZone", "+02:00");
        switch (format) {
            case "json" -> options.put("valueSchema", JSON_SCHEMA);
            case "csv" -> options.put("valueSchema", CSV_SCHEMA);
            case "avro" -> options.put("valueSchemaFile", root.resolve("schema.avsc").toString());
            default -> {
                options.put("valueSchemaFile", root.resolve("schema.proto").toString());
                options.put("messageName", "fuzz.Order");
            }
        }
        if (random.nextInt(4) == 0) {
            options.put("columnNameOfCorruptRecord", format.equals("json") ? "_corrupt_record" : "bad");
        }
        if (random.nextInt(8) == 0) {
            options.put("valueFraming", random.nextBoolean() ? "confluent" : "apicurio");
        }
    }
}
