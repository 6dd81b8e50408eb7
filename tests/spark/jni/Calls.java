package io.kafkastore.spark;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Calls of natives: how they may end. */
final class Calls {
    static final AtomicLong ROWS = new AtomicLong();
    static final AtomicLong BATCHES = new AtomicLong();
    static final AtomicLong ANSWERED = new AtomicLong();
    static final AtomicLong REFUSED = new AtomicLong();
    static final AtomicLong ROWS_WRITTEN = new AtomicLong();

    private static final String BUG = "this is a bug of kafkastore: ";
    /** What the library says of callers that break their contract, as the cases do; any other bug is a panic. */
    private static final List<String> OF_CALLERS = List.of("a block of rows is cut short", "the writer has ended",
        "a transaction is not one of this writer");

    /** Sentences of refusals, without their numbers and names, and how often each was given. */
    private static final Map<String, AtomicLong> SENTENCES = new ConcurrentHashMap<>();
    private static final int SENTENCE_LENGTH = 100;
    private static final int MOST_SENTENCES = 100;

    private Calls() { }

    interface Action {
        void run() throws Exception;
    }

    /** The answer, or null when the call was refused with an exception of ours. */
    static <T> T answer(Callable<T> call) throws Exception {
        try {
            T found = call.call();
            ANSWERED.incrementAndGet();
            return found;
        } catch (IllegalArgumentException | KafkastoreException error) {
            REFUSED.incrementAndGet();
            String message = error.getMessage();
            boolean isOfCaller = OF_CALLERS.stream().anyMatch(one -> (BUG + one).equals(message));
            if (message == null || message.isEmpty() || message.contains(BUG) && !isOfCaller) {
                throw new JniFuzz.Finding("refused with " + error);
            }
            count(message);
            return null;
        }
    }

    private static void count(String message) {
        String start = message.substring(0, Math.min(message.length(), 10 * SENTENCE_LENGTH));
        String plain = start.replaceAll("\\S*[^a-zA-Z :,;.()'-]\\S*", "*").replaceAll("[^ -~]", "?");
        String sentence = plain.substring(0, Math.min(plain.length(), SENTENCE_LENGTH));
        SENTENCES.computeIfAbsent(sentence, one -> new AtomicLong()).incrementAndGet();
    }

    static void printSentences() {
        SENTENCES.entrySet().stream()
            .sorted((one, other) -> Long.compare(other.getValue().get(), one.getValue().get()))
            .limit(MOST_SENTENCES)
            .forEach(one -> System.out.printf("%7d %s%n", one.getValue().get(), one.getKey()));
    }

    /** Whether the call was not refused. */
    static boolean done(Action call) throws Exception {
        return answer(() -> {
            call.run();
            return true;
        }) != null;
    }

    /** The call has to be refused. */
    static void refused(String what, Action call) throws Exception {
        if (done(call)) {
            throw new JniFuzz.Finding(what + " was not refused");
        }
    }

    static void require(boolean isTrue, String what) {
        if (!isTrue) {
            throw new JniFuzz.Finding(what);
        }
    }

    static String summary() {
        return ANSWERED + " calls answered, " + REFUSED + " refused, " + BATCHES + " batches with " + ROWS
            + " rows read, " + ROWS_WRITTEN + " rows written";
    }
}
