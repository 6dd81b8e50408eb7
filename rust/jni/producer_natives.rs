//! The natives of the Java class `io.kafkastore.spark.NativeProducer`, by the names under which a JVM looks for them.
//!
//! Each one catches panics (`with_env`), throws errors, and returns 0 or null with them.

#![expect(
    unsafe_code,
    reason = "an exported name: sound because nothing else in the library has a name that begins with Java_"
)]

use std::time::Duration;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jboolean, jint, jlong};

use super::answers::{answer, tell, with_block};
use super::errors::{NativeError, Throws};
use super::writers;
use producer::requests;

fn millis(limit_ms: jlong) -> Duration {
    Duration::from_millis(u64::try_from(limit_ms).unwrap_or_default())
}

/// `static native String check(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_check<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, requests::check)
}

/// `static native String begin(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_begin<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, requests::begin)
}

/// `static native void commit(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_commit<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) {
    tell(&mut env, &request, requests::commit);
}

/// `static native void abort(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_abort<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) {
    tell(&mut env, &request, requests::abort);
}

/// `static native long open(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_open<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> jlong {
    env.with_env(|env| writers::open(&request.try_to_string(env)?))
        .resolve::<Throws>()
}

/// `static native boolean append(long handle, byte[] block, int length)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_append<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
    block: JByteArray<'local>,
    length: jint,
) -> jboolean {
    env.with_env(|env| with_block(env, &block, length, |rows| writers::append(handle, rows)))
        .resolve::<Throws>()
}

/// `static native boolean drain(long handle, long limitMs)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_drain<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
    limit_ms: jlong,
) -> jboolean {
    env.with_env(|_| writers::drain(handle, millis(limit_ms)))
        .resolve::<Throws>()
}

/// `static native String flush(long handle, long limitMs)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_flush<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
    limit_ms: jlong,
) -> JString<'local> {
    env.with_env(|env| match writers::flush(handle, millis(limit_ms))? {
        Some(answer) => Ok::<_, NativeError>(JString::new(env, answer)?),
        None => Ok(JString::null()),
    })
    .resolve::<Throws>()
}

/// `static native void discard(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_discard<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) {
    env.with_env(|_| writers::abort(handle)).resolve::<Throws>();
}

/// `static native void close(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeProducer_close<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) {
    env.with_env(|_| {
        writers::close(handle);
        Ok::<_, NativeError>(())
    })
    .resolve::<Throws>();
}
