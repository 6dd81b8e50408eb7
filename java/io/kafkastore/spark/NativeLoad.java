package io.kafkastore.spark;

/**
 * The calls into the builder of a bulk load's segments, which is written in Rust (rust/producer/staging.rs). Requests
 * and answers are JSON, but for the rows, which are packed into blocks ({@link RowBlock}).
 *
 * <p>Every call throws {@link IllegalArgumentException} for a mistake in the options or in a row, and {@link
 * KafkastoreException} for everything else, each of one sentence.
 */
final class NativeLoad {
    static {
        Native.ensureLoaded();
    }

    private NativeLoad() { }

    /** Begins what one attempt of a task stages; returns a handle for the calls below. */
    static native long open(String request);

    /** Builds the rows of the first {@code length} bytes of a block. No call but close may follow an error. */
    static native void append(long handle, byte[] block, int length);

    /** Writes the rest; what is staged, for the driver. */
    static native String finish(long handle);

    /** Frees what the handle has, and removes what it has staged if it has not finished. Others are left alone. */
    static native void close(long handle);
}
