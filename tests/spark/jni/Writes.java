package io.kafkastore.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Writers with odd options, rows and blocks, to a broker through the proxy or to nobody. */
final class Writes {
    private static final String NOBODY = "127.0.0.1:1";
    private static final StructType HEADER = new StructType()
        .add("key", DataTypes.StringType).add("value", DataTypes.BinaryType);
    private static final StructType ROW = new StructType()
        .add("topic", DataTypes.StringType).add("partition", DataTypes.IntegerType)
        .add("key", DataTypes.BinaryType).add("value", DataTypes.StringType)
        .add("headers", new ArrayType(HEADER, true)).add("timestamp", DataTypes.TimestampType);
    private static final int[] LENGTHS = {0, -1, 1, Integer.MIN_VALUE, Integer.MAX_VALUE};

    private final Proxy proxy;

    Writes(Proxy proxy) {
        this.proxy = proxy;
    }

    void run(Random random) throws Exception {
        switch (random.nextInt(4)) {
            case 0 -> rows(random);
            case 1 -> blocks(random);
            case 2 -> jobs(random);
            default -> Calls.answer(() -> NativeProducer.check(Requests.broken(request(random), random)));
        }
    }

    private ObjectNode request(Random random) {
        ObjectNode request = Json.object();
        ObjectNode options = request.putObject("options");
        options.put("kafka.bootstrap.servers", random.nextInt(3) != 0 && proxy.hasBroker() ? proxy.address(random)
            : NOBODY);
        String[] codecs = {"none", "gzip", "snappy", "lz4", "zstd"};
        options.put("kafka.compression.type", codecs[random.nextInt(codecs.length)]);
        options.put("kafka.batch.size", Integer.toString(1 + random.nextInt(20_000)));
        options.put("kafka.buffer.memory", Integer.toString(1000 + random.nextInt(200_000)));
        if (random.nextInt(4) == 0) {
            options.put("kafka.acks", Integer.toString(random.nextInt(3) - 1));
            options.put("kafka.enable.idempotence", Boolean.toString(random.nextBoolean()));
        }
        limit(request);
        request.put("isExactlyOnce", random.nextBoolean());
        request.put("topic", random.nextInt(4) == 0 ? null : "sink");
        return request.put("transactionalId", random.nextInt(3) == 0 ? "fuzz-" + random.nextInt(3) : null);
    }

    /** Nobody waits long here. */
    private static void limit(ObjectNode request) {
        if (request.get("options") instanceof ObjectNode options) {
            options.put("kafka.max.block.ms", "150").put("kafka.request.timeout.ms", "100")
                .put("kafka.delivery.timeout.ms", "300").put("kafka.retry.backoff.ms", "10");
        }
    }

    /** Rows as a task writes them. */
    private void rows(Random random) throws Exception {
        RowColumns columns = RowColumns.of(ROW, random.nextBoolean() ? "sink" : null, random.nextBoolean());
        ObjectNode request = request(random).put("topic", columns.topic() == RowColumns.NONE ? "sink" : null);
        RowWriter writer = Calls.answer(() -> new RowWriter(columns, request, false));
        if (writer == null) {
            return;
        }
        UnsafeProjection unsafe = UnsafeProjection.create(ROW);
        boolean isPacked = random.nextBoolean();
        int count = random.nextInt(300);
        boolean isDone = Calls.done(() -> {
            for (int i = 0; i < count; i++) {
                InternalRow row = row(random);
                writer.write(isPacked ? unsafe.apply(row) : row);
            }
            if (random.nextInt(8) == 0) {
                Thread.currentThread().interrupt();
            }
            if (random.nextInt(4) != 0) {
                writer.commit();
            }
        });
        Thread.interrupted();
        if (!isDone || random.nextBoolean()) {
            Calls.done(writer::abort);
        } else {
            Calls.ROWS_WRITTEN.addAndGet(count);
        }
        for (int i = random.nextInt(2); i >= 0; i--) {
            writer.close();
        }
        Calls.refused("rows for a closed writer", () -> {
            writer.write(row(random));
            writer.commit();
        });
    }

    private static InternalRow row(Random random) {
        Object[] fields = new Object[ROW.size()];
        fields[0] = UTF8String.fromString(random.nextInt(2000) == 0 ? "no such topic \ud800" : "sink");
        fields[1] = random.nextInt(4) == 0 ? random.nextInt(random.nextInt(1000) == 0 ? 100 : 2) : null;
        fields[2] = random.nextInt(4) == 0 ? null : bytes(random, 40);
        fields[3] = random.nextInt(8) == 0 ? null : UTF8String.fromBytes(bytes(random, random.nextInt(99) == 0 ? 600_000
            : 500));
        if (random.nextInt(4) == 0) {
            Object[] headers = new Object[random.nextInt(4)];
            for (int i = 0; i < headers.length; i++) {
                headers[i] = random.nextInt(1000) == 0 ? null : new GenericInternalRow(new Object[] {
                    random.nextInt(1000) == 0 ? null : UTF8String.fromBytes(bytes(random, 10)),
                    random.nextInt(4) == 0 ? null : bytes(random, 30)});
            }
            fields[4] = new GenericArrayData(headers);
        }
        fields[5] = random.nextInt(4) == 0 ? null : (Object) (random.nextInt(20) == 0 ? random.nextLong()
            : 1_700_000_000_000_000L);
        return new GenericInternalRow(fields);
    }

    private static byte[] bytes(Random random, int most) {
        byte[] bytes = new byte[random.nextInt(most)];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Blocks that no writer of ours packs, with lengths that they have not. */
    private void blocks(Random random) throws Exception {
        ObjectNode request = request(random);
        Long handle = Calls.answer(() -> NativeProducer.open(request.toString()));
        if (handle == null) {
            return;
        }
        for (int i = random.nextInt(6); i >= 0; i--) {
            byte[] block = random.nextInt(10) == 0 ? null : block(random);
            int length = block == null || random.nextInt(6) == 0 ? LENGTHS[random.nextInt(LENGTHS.length)]
                : block.length;
            Calls.answer(() -> NativeProducer.append(handle, block, length));
            Calls.answer(() -> NativeProducer.drain(handle, random.nextInt(4) == 0 ? Long.MIN_VALUE
                : random.nextInt(20)));
        }
        Calls.done(() -> NativeProducer.flush(handle, random.nextInt(100)));
        if (random.nextBoolean()) {
            Calls.done(() -> NativeProducer.discard(handle));
        }
        for (int i = random.nextInt(2); i >= 0; i--) {
            NativeProducer.close(handle);
        }
        Calls.refused("a flush of a closed writer", () -> NativeProducer.flush(handle, 0));
        Calls.refused("rows for a closed writer", () -> NativeProducer.append(handle, new byte[0], 0));
    }

    /** Rows that {@link RowBlock} packs, with a few bytes changed, or any bytes. */
    static byte[] block(Random random) {
        if (random.nextInt(4) == 0) {
            return bytes(random, 300);
        }
        RowBlock block = new RowBlock(RowColumns.of(ROW, "sink", true));
        for (int i = random.nextInt(5); i >= 0; i--) {
            try {
                block.append(row(random));
            } catch (IllegalArgumentException error) {
                // a null header; what is packed of the row is half a row
            }
        }
        byte[] bytes = Arrays.copyOf(block.bytes(), block.size());
        for (int i = random.nextInt(4); i > 0 && bytes.length > 0; i--) {
            bytes[random.nextInt(Math.min(bytes.length, 60))] = (byte) (random.nextBoolean() ? 255 : random.nextInt());
        }
        return bytes;
    }

    /** The driver's calls of an exactly-once write. */
    private void jobs(Random random) throws Exception {
        ObjectNode begin = request(random);
        begin.put("prefix", "fuzz-job-" + random.nextInt(3));
        begin.put("queryId", random.nextBoolean() ? null : "query-" + random.nextInt(2));
        ObjectNode end = Json.object().put("prefix", begin.get("prefix").asText());
        end.put("batch", random.nextBoolean() ? null : random.nextLong());
        end.put("hasLostTasks", random.nextBoolean());
        end.putArray("transactions").addObject().put("transactionalId", "fuzz-" + random.nextInt(3))
            .put("producerId", random.nextInt(5)).put("epoch", random.nextInt(3));
        String begun = random.nextBoolean() ? begin.toString() : brokenJob(begin, random);
        String ended = random.nextBoolean() ? end.toString() : Requests.broken(end, random);
        Calls.answer(() -> NativeProducer.begin(begun));
        Calls.done(() -> {
            if (random.nextBoolean()) {
                NativeProducer.commit(ended);
            } else {
                NativeProducer.abort(ended);
            }
        });
    }

    private static String brokenJob(ObjectNode begin, Random random) {
        ObjectNode broken = Requests.brokenInside(begin, random);
        limit(broken);
        return broken.toString();
    }
}
