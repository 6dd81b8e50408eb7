/* What AddressSanitizer knows of memory, for Probe.java. Built as a library: see jni_fuzz.py. */
#include <jni.h>
#include <stdlib.h>

/* as sanitizer/asan_interface.h and allocator_interface.h have them, which not every gcc brings */
void *__asan_region_is_poisoned(void *begin, size_t size);
size_t __sanitizer_get_current_allocated_bytes(void);

JNIEXPORT jlong JNICALL Java_io_kafkastore_spark_Probe_poisoned(JNIEnv *env, jclass class, jlong address, jlong bytes) {
    return (jlong)__asan_region_is_poisoned((void *)address, (size_t)bytes);
}

JNIEXPORT jlong JNICALL Java_io_kafkastore_spark_Probe_probeOfFreed(JNIEnv *env, jclass class) {
    char *volatile freed = malloc(64);
    jlong address = (jlong)freed;
    free(freed);
    return address;
}

JNIEXPORT jlong JNICALL Java_io_kafkastore_spark_Probe_allocated(JNIEnv *env, jclass class) {
    return (jlong)__sanitizer_get_current_allocated_bytes();
}
