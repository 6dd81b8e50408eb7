package io.kafkastore.spark;

/**
 * The calls into the producer, which is written in Rust (rust/producer, rust/jni). Requests and answers are JSON, but
 * for the rows, which are packed into blocks ({@link RowBlock}).
 *
 * <p>Every call throws {@link IllegalArgumentException} for a mistake in the options or in a row, {@link
 * DataLossException} when records whose commit was decided are gone, and {@link KafkastoreException} for everything
 * else, each of one sentence.
 */
final class NativeProducer {
    static {
        Native.ensureLoaded();
    }

    private NativeProducer() { }

    /** Reads the options of a write; the warnings about them. */
    static native String check(String request);

    /** On the driver: begins a job, or the next batch of a query, whose tasks write in transactions. */
    static native String begin(String request);

    /** On the driver: commits the transactions of a job or a batch; those of a batch exactly once. */
    static native void commit(String request);

    /** On the driver: aborts the transactions of a job or a batch. */
    static native void abort(String request);

    /** Opens the writer of a task; returns a handle for the calls below. Nothing is connected to yet. */
    static native long open(String request);

    /** Takes the first {@code length} bytes of a block; whether there is room for more. */
    static native boolean append(long handle, byte[] block, int length);

    /** Waits at most {@code limitMs} for room; whether there is some. */
    static native boolean drain(long handle, long limitMs);

    /** Waits at most {@code limitMs} for the acknowledgement of every row; null when it has not come. */
    static native String flush(long handle, long limitMs);

    /** Aborts what was not flushed. */
    static native void discard(long handle);

    /** Frees what the handle has. A handle that is closed already is left alone. */
    static native void close(long handle);
}
