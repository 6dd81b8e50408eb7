import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens one log, cleans it at a given time and closes it with Kafka's own classes: the choice of offsets is
 * {@link LogCleanerManager}'s, the cleaning {@link Cleaner}'s, the opening and the swap {@link UnifiedLog}'s. One JSON
 * request a line in, one JSON answer a line out; tests/interop/cleaners.py describes the fields. All the work is done
 * by the main thread, so that a tracer can kill the program at its n-th call of a kind.
 */
public final class LogCleaning {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MIN_SEGMENT_BYTES = 1 << 20;
    private static final int SLOT_BYTES = 24;

    private LogCleaning() { }

    /** A clock that stands still. */
    private record FixedTime(long milliseconds) implements Time {
        @Override
        public long nanoseconds() {
            return milliseconds * 1_000_000;
        }

        @Override
        public void sleep(long ms) { }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
    }

    /** What the log cancels when it closes. */
    private static final class Unscheduled extends FutureTask<Void> implements ScheduledFuture<Void> {
        Unscheduled(Runnable task) {
            super(task, null);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }

    /** Keeps what is scheduled once until {@link #runAll}; nothing is repeated. */
    private static final class LaterScheduler implements Scheduler {
        private final Deque<Runnable> tasks = new ArrayDeque<>();

        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (periodMs <= 0) {
                tasks.add(task);
            }
            return new Unscheduled(task);
        }

        @Override
        public void resizeThreadPool(int size) { }

        void runAll() {
            while (!tasks.isEmpty()) {
                tasks.poll().run();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                run(JSON.readTree(line), answer);
            } catch (Exception error) {
                error.printStackTrace();
                answer.put("error", error.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
            System.out.flush();
        }
    }

    private static void run(JsonNode request, ObjectNode answer) throws Exception {
        Time time = new FixedTime(request.get("now_ms").asLong());
        LaterScheduler scheduler = new LaterScheduler();
        UnifiedLog log = open(request, time, scheduler);
        log.updateHighWatermark(log.logEndOffset());
        log.producerStateManager().removeExpiredProducers(time.milliseconds());
        log.maybeIncrementLogStartOffset(
            request.get("deletes_to").asLong(), LogStartOffsetIncrementReason.ClientRecordDeletion);
        answer.put("log_end", log.logEndOffset());
        answer.put("last_stable", log.lastStableOffset());
        if (request.get("deletes").asBoolean()) {
            answer.put("deleted", log.deleteOldSegments());
        }
        answer.put("log_start", log.logStartOffset());
        if (request.get("cleans").asBoolean()) {
            clean(log, request, time, answer);
        }
        scheduler.runAll();
        log.prepareActiveSegmentForClose();
        log.flush(true);
        log.close();
        scheduler.runAll();
    }

    private static UnifiedLog open(JsonNode request, Time time, Scheduler scheduler) throws Exception {
        return UnifiedLog.create(
            new File(request.get("dir").asText()),
            config(request.get("config")),
            request.get("log_start").asLong(),
            request.get("recovery_point").asLong(),
            scheduler,
            new BrokerTopicStats(),
            time,
            900_000,
            new ProducerStateManagerConfig(request.get("producer_expiration_ms").asInt(), false),
            600_000,
            new LogDirFailureChannel(10),
            request.get("is_clean_shutdown").asBoolean(),
            Optional.empty());
    }

    /** Segments below the least size that the public key takes have a key for tests. */
    private static LogConfig config(JsonNode given) {
        Map<String, String> config = new HashMap<>();
        given.fields().forEachRemaining(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        String bytes = config.get("segment.bytes");
        if (bytes != null && Integer.parseInt(bytes) < MIN_SEGMENT_BYTES) {
            config.remove("segment.bytes");
            config.put("internal.segment.bytes", bytes);
        }
        return new LogConfig(config);
    }

    private static void clean(UnifiedLog log, JsonNode request, Time time, ObjectNode answer) throws Exception {
        long nowMs = time.milliseconds();
        JsonNode checkpoint = request.get("first_dirty");
        Optional<Long> lastClean = checkpoint.isNull() ? Optional.empty() : Optional.of(checkpoint.asLong());
        Object offsets = call(null, LogCleanerManager.class, "cleanableOffsets", log, lastClean, nowMs);
        long firstDirty = (long) call(offsets, offsets.getClass(), "firstDirtyOffset");
        long uncleanable = (long) call(offsets, offsets.getClass(), "firstUncleanableDirtyOffset");
        long delayMs = (long) call(null, LogCleanerManager.class, "maxCompactionDelay", log, firstDirty, nowMs);
        LogToClean cleanable = new LogToClean(log, firstDirty, uncleanable, delayMs > 0);
        boolean isDue = delayMs > 0 && cleanable.cleanableBytes() > 0
            || cleanable.cleanableRatio() > log.config().minCleanableRatio;
        answer.put("first_dirty", cleanable.firstDirtyOffset());
        answer.put("first_uncleanable", cleanable.firstUncleanableOffset());
        answer.put("clean_bytes", cleanable.cleanBytes());
        answer.put("cleanable_bytes", cleanable.cleanableBytes());
        answer.put("delay_ms", delayMs);
        answer.put("is_due", isDue);
        if (!isDue) {
            return;
        }
        int ioBytes = request.get("io_bytes").asInt();
        Cleaner cleaner = new Cleaner(
            0,
            new SkimpyOffsetMap(request.get("map_slots").asInt() * SLOT_BYTES),
            ioBytes,
            Math.max(ioBytes, log.config().maxMessageSize()),
            request.get("load_factor").asDouble(),
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time),
            time,
            partition -> { });
        Map.Entry<Long, CleanerStats> done = cleaner.doClean(cleanable, nowMs);
        answer.put("end", done.getKey());
        answer.put("kept_records", done.getValue().messagesWritten());
    }

    private static Object call(Object target, Class<?> owner, String name, Object... arguments) throws Exception {
        for (Method method : owner.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                return method.invoke(target, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }
}
