package io.kafkastore.spark;

/** Asks AddressSanitizer about memory that Java reads: what the JVM compiles is not checked by it. See probe.c. */
final class Probe {
    private static boolean isLoaded;

    private Probe() { }

    static void load(String library) {
        if (library != null) {
            System.load(library);
            isLoaded = true;
            Calls.require(poisoned(probeOfFreed(), 1) != 0, "the probe does not see freed memory");
        }
    }

    static boolean isLoaded() {
        return isLoaded;
    }

    /** Fails when any of the bytes is not the library's. */
    static void check(String what, long address, long bytes) {
        if (bytes > 0) {
            Calls.require(address != 0, what + " has no address");
            if (isLoaded) {
                long bad = poisoned(address, bytes);
                Calls.require(bad == 0, what + " of " + bytes + " bytes at " + Long.toHexString(address)
                    + " is not allocated from " + Long.toHexString(bad) + " on");
            }
        }
    }

    /** The first address that may not be read, or 0. */
    private static native long poisoned(long address, long bytes);

    /** The address of memory that was just freed. */
    private static native long probeOfFreed();

    /** Bytes that the library and the JVM have allocated with malloc. */
    static native long allocated();
}
