package io.kafkastore.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReadMinRows;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * How much one batch of a stream takes: maxOffsetsPerTrigger, minOffsetsPerTrigger with maxTriggerDelay, and
 * maxBytesPerTrigger.
 */
final class TriggerLimits {
    private static final String MAX_OFFSETS = "maxOffsetsPerTrigger";
    private static final String MIN_OFFSETS = "minOffsetsPerTrigger";
    private static final String MAX_BYTES = "maxBytesPerTrigger";
    private static final String MAX_DELAY = "maxTriggerDelay";
    private static final long NONE = Long.MAX_VALUE;

    private final long maxOffsets;
    private final long minOffsets;
    private final long maxBytes;
    private final long maxDelayMs;
    private long lastBatchMs;

    TriggerLimits(CaseInsensitiveStringMap options) {
        maxOffsets = positive(options, MAX_OFFSETS, NONE);
        minOffsets = positive(options, MIN_OFFSETS, 0);
        maxBytes = positive(options, MAX_BYTES, NONE);
        maxDelayMs = JavaUtils.timeStringAsMs(options.getOrDefault(MAX_DELAY, "15m"));
        if (minOffsets > maxOffsets) {
            throw new IllegalArgumentException(MIN_OFFSETS + ": " + minOffsets + " is more than " + maxOffsets + " of "
                + MAX_OFFSETS + "; give the smaller number here");
        }
    }

    private static long positive(CaseInsensitiveStringMap options, String name, long otherwise) {
        String text = options.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(text.trim());
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException error) {
            // the sentence below says it
        }
        throw new IllegalArgumentException(name + ": '" + text + "' is no whole number above 0; give one");
    }

    /** What Spark gives back to {@code latestOffset}, unless the trigger wants everything. */
    ReadLimit asReadLimit() {
        List<ReadLimit> limits = new ArrayList<>();
        if (minOffsets > 0) {
            limits.add(ReadLimit.minRows(minOffsets, maxDelayMs));
        }
        if (maxOffsets < NONE) {
            limits.add(ReadLimit.maxRows(maxOffsets));
        }
        if (limits.isEmpty()) {
            return ReadLimit.allAvailable();
        }
        return limits.size() == 1 ? limits.get(0) : ReadLimit.compositeLimit(limits.toArray(new ReadLimit[0]));
    }

    /** Whether the bytes that wait have a say. */
    boolean countsBytes() {
        return maxBytes < NONE;
    }

    /** The end of the next batch: between {@code start} and {@code latest}; {@code bytes} lie between them. */
    Places end(Places start, Places latest, long bytes, ReadLimit wanted, long nowMs) {
        ReadLimit[] limits = wanted instanceof CompositeReadLimit all ? all.getReadLimits() : new ReadLimit[] {wanted};
        long waiting = count(start, latest);
        long most = NONE;
        for (ReadLimit limit : limits) {
            if (limit instanceof ReadMinRows least && waiting < least.minRows()
                && nowMs - lastBatchMs < least.maxTriggerDelayMs()) {
                return start;
            }
            if (limit instanceof ReadMaxRows rows) {
                most = Math.min(most, rows.maxRows());
            }
        }
        if (maxBytes < bytes) {
            most = Math.min(most, Math.max(1, (long) ((double) maxBytes / bytes * waiting)));
        }
        if (waiting > 0) {
            lastBatchMs = nowMs;
        }
        return most < waiting ? share(start, latest, (double) most / waiting) : latest;
    }

    private static long count(Places start, Places latest) {
        long[] sum = {0};
        latest.forEach((topic, partition, end) -> sum[0] += Math.max(0, end - begin(start, topic, partition, end)));
        return sum[0];
    }

    private static long begin(Places start, String topic, int partition, long otherwise) {
        Long known = start.get(topic, partition);
        return known == null ? otherwise : known;
    }

    /** The same part of each partition, at least one offset where any waits. */
    private static Places share(Places start, Places latest, double part) {
        Places found = new Places();
        latest.forEach((topic, partition, end) -> {
            long begin = begin(start, topic, partition, end);
            long taken = (long) Math.ceil(part * Math.max(0, end - begin));
            found.put(topic, partition, Math.min(Math.max(begin, end), begin + taken));
        });
        return found;
    }
}
