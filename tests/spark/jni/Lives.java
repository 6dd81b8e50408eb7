package io.kafkastore.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Readers that are used wrongly: closed twice or by another thread, read after their end, in any order. */
final class Lives {
    private static final int READERS = 5;
    private static final long[] NEVER_GIVEN = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 32};

    private final Reads reads;

    Lives(Reads reads) {
        this.reads = reads;
    }

    void run(Random random) throws Exception {
        Map<String, String> options = reads.options(random, reads.root().resolve("logs"));
        options.put("mode", "PERMISSIVE");
        Reads.Scan scan = Calls.answer(() -> reads.scan(random, options, Json.array(), KafkastoreScanBuilder.NO_LIMIT));
        if (scan == null || scan.shares().isEmpty()) {
            return;
        }
        switch (random.nextInt(6)) {
            case 0 -> inAnyOrder(scan, random);
            case 1 -> afterClose(scan, random);
            case 2 -> wrongHandles(scan, random);
            case 3 -> wrongPlaces(scan, random);
            case 4 -> closedMeanwhile(scan, random);
            default -> byManyThreads(scan, random);
        }
    }

    /** Many readers are open at once; their batches are read by turns, and they are closed in any order. */
    private static void inAnyOrder(Reads.Scan scan, Random random) throws Exception {
        List<PartitionReader<ColumnarBatch>> open = new ArrayList<>();
        for (int i = 0; i < READERS; i++) {
            open.add(scan.reader(random.nextInt(scan.shares().size())));
        }
        while (!open.isEmpty()) {
            PartitionReader<ColumnarBatch> one = open.get(random.nextInt(open.size()));
            if (random.nextInt(3) != 0 && one.next()) {
                for (int again = random.nextInt(2); again >= 0; again--) {
                    BatchCheck.values(scan.columns(), one.get());
                }
            } else {
                Collections.swap(open, open.indexOf(one), open.size() - 1);
                open.remove(open.size() - 1).close();
            }
        }
    }

    private static void afterClose(Reads.Scan scan, Random random) throws Exception {
        PartitionReader<ColumnarBatch> reader = scan.reader(0);
        boolean hasMore = reader.next();
        for (int left = random.nextInt(4); hasMore && left > 0; left--) {
            BatchCheck.values(scan.columns(), reader.get());
            hasMore = reader.next();
        }
        Calls.require(hasMore || !reader.next(), "a reader goes on behind its end");
        ColumnarBatch freed = reader.get();
        Calls.require(hasMore || freed.numRows() == 0, "a batch behind the end has rows");
        reader.close();
        reader.close();
        Calls.refused("a next batch of a closed reader", reader::next);
        Calls.refused("the batch of a closed reader", reader::get);
        Calls.require(freed.numRows() == 0, "the batch of a closed reader has rows");
        for (int i = 0; i < freed.numCols(); i++) {
            Calls.require(isForgotten(freed.column(i)), "a column of a closed reader can be read");
        }
    }

    /** With assertions, which tests/spark/jni_fuzz.py enables. */
    private static boolean isForgotten(ColumnVector column) {
        try {
            column.isNullAt(0);
            return false;
        } catch (AssertionError error) {
            return true;
        }
    }

    private static void wrongHandles(Reads.Scan scan, Random random) throws Exception {
        long closed = Native.open(scan.request(0, 100).toString());
        long[] places = scan.places();
        Native.next(closed, places);
        Native.close(closed);
        List<Long> wrong = new ArrayList<>(List.of(closed, closed + 1_000_000_000L, random.nextLong() | 1L << 62));
        for (long handle : NEVER_GIVEN) {
            wrong.add(handle);
        }
        for (long handle : wrong) {
            Native.close(handle);
            Calls.refused("a batch of no reader", () -> Native.next(handle, places));
            Calls.refused("what no reader has lost", () -> Native.lost(handle));
            Calls.refused("rows for no writer", () -> NativeProducer.append(handle, new byte[8], 8));
        }
    }

    private static void wrongPlaces(Reads.Scan scan, Random random) throws Exception {
        int needed = scan.places().length;
        long handle = Native.open(scan.request(0, 100).toString());
        try {
            Integer rows = Calls.answer(() -> Native.next(handle, random.nextInt(4) == 0 ? null
                : new long[random.nextInt(needed + 1)]));
            Integer more = Calls.answer(() -> Native.next(handle, new long[needed + 100]));
            Calls.require(rows != null || more == null, "a reader goes on after a batch that nobody got");
        } finally {
            Native.close(handle);
        }
    }

    /** Another thread closes the reader while this one reads: a batch or a refusal, whose memory nobody looks at. */
    private static void closedMeanwhile(Reads.Scan scan, Random random) throws Exception {
        long handle = Native.open(scan.request(0, 1 + random.nextInt(50)).toString());
        int spins = random.nextInt(20_000);
        Thread closer = new Thread(() -> {
            for (int i = 0; i < spins; i++) {
                Thread.onSpinWait();
            }
            Native.close(handle);
        });
        closer.start();
        long[] places = scan.places();
        for (int i = 0; i < 200; i++) {
            Integer rows = Calls.answer(() -> Native.next(handle, places));
            if (rows == null || rows < 0) {
                break;
            }
        }
        closer.interrupt();
        closer.join();
        Calls.refused("a batch of a closed reader", () -> Native.next(handle, places));
    }

    /** Several threads take batches of one reader, each once, and close it. */
    private static void byManyThreads(Reads.Scan scan, Random random) throws Exception {
        long handle = Native.open(scan.request(0, 1 + random.nextInt(50)).toString());
        AtomicReference<Throwable> failed = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            threads.add(new Thread(() -> {
                try {
                    long[] places = scan.places();
                    Integer rows = 0;
                    while (rows != null && rows >= 0) {
                        rows = Calls.answer(() -> Native.next(handle, places));
                    }
                    Calls.answer(() -> Native.lost(handle));
                    Native.close(handle);
                } catch (Throwable error) {
                    failed.set(error);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.interrupt();
            thread.join();
        }
        if (failed.get() != null) {
            throw new JniFuzz.Finding("a thread of several: " + failed.get());
        }
    }
}
