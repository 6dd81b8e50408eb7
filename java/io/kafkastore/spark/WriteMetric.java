package io.kafkastore.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What Spark's UI shows of a write. Spark makes instances by the constructor without arguments. */
final class WriteMetric {
    static final String ROWS = "recordsWritten";
    static final String BYTES = "bytesWritten";

    private WriteMetric() { }

    /** Records that tasks have given to their producers. */
    public static final class Rows extends CustomSumMetric {
        @Override
        public String name() {
            return ROWS;
        }

        @Override
        public String description() {
            return "number of records written to Kafka";
        }
    }

    /** Bytes of batches that brokers have acknowledged, compressed. */
    public static final class Bytes extends CustomSumMetric {
        @Override
        public String name() {
            return BYTES;
        }

        @Override
        public String description() {
            return "bytes of record batches written to Kafka";
        }
    }

    static CustomMetric[] all() {
        return new CustomMetric[] {new Rows(), new Bytes()};
    }

    static CustomTaskMetric value(String name, long value) {
        return new CustomTaskMetric() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public long value() {
                return value;
            }
        };
    }
}
