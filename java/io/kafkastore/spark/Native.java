package io.kafkastore.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * The calls into the scan, which is written in Rust (rust/jni). Requests and answers are JSON, but for the batches:
 * these stay in native memory, and {@link #next} tells where.
 *
 * <p>Every call throws {@link IllegalArgumentException} for a mistake in the options, {@link DataLossException} when
 * records of the planned range are gone, and {@link KafkastoreException} for everything else, each of one sentence.
 */
final class Native {
    /** What {@link #next} tells of a column: addresses of data, offsets and validity, first row, nulls, bytes. */
    static final int PLACES = 6;
    static final int DATA = 0;
    static final int OFFSETS = 1;
    static final int VALIDITY = 2;
    static final int FIRST_ROW = 3;
    static final int NULLS = 4;

    private static final String NAME = "libkafkastore_jni.so";

    static {
        load();
    }

    private Native() { }

    /** For classes with natives of their own: the library is loaded when this returns. */
    static void ensureLoaded() { }

    /** The shares of a read, with its ranges and warnings. */
    static native String plan(String request);

    /** Every partition of a read, empty ones too, with the offsets where it begins and ends. */
    static native String offsets(String request);

    /** The type of the column value, when the options have values parsed, and how. */
    static native String schema(String request);

    /** Which of the filters a scan applies exactly. */
    static native String push(String request);

    /** Counts and extents of each partition of a read, from the headers of batches. */
    static native String summarise(String request);

    /** Begins to read splits; returns a handle for the calls below. */
    static native long open(String request);

    /**
     * The next batch: how many rows it has, and where its columns are; -1 at the end. The memory is valid until the
     * next call for the same handle.
     */
    static native int next(long handle, long[] places);

    /** The ranges of records that were gone and have been left out. */
    static native String lost(long handle);

    /** Ends a task's part in a lease on links; the last task's removes the links. */
    static native void release(String lease);

    /** Frees what the handle has. A handle that is closed already is left alone. */
    static native void close(long handle);

    /** The library is a resource of the jar, so that Spark brings both to the executors. */
    private static void load() {
        String place = "/native/linux-" + System.getProperty("os.arch").toLowerCase(Locale.ROOT) + "/" + NAME;
        try (InputStream library = Native.class.getResourceAsStream(place)) {
            if (library == null) {
                throw new KafkastoreException("this jar has no library " + place.substring(1)
                    + "; install the wheel of kafkastore for this machine");
            }
            // a name of its own for each class loader: a library is loaded into one only
            Path file = Files.createTempFile("kafkastore-", ".so");
            try {
                Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
                System.load(file.toAbsolutePath().toString());
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (IOException error) {
            throw new KafkastoreException("the library of kafkastore cannot be unpacked into "
                + System.getProperty("java.io.tmpdir") + " (" + error.getMessage() + "); set java.io.tmpdir to a"
                + " folder that can be written");
        }
    }
}
