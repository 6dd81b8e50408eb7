//! The natives, by the names under which a JVM looks for them.
//!
//! Each one catches panics (`with_env`), throws errors, and returns 0 or null with them.

#![expect(
    unsafe_code,
    reason = "an exported name: sound because nothing else in the library has a name that begins with Java_"
)]

use jni::EnvUnowned;
use jni::objects::{JClass, JLongArray, JString};
use jni::sys::{jint, jlong};

use super::answers::{answer, tell};
use super::errors::{NativeError, Throws};
use super::handles;
use planner::requests;

/// A task of the JVM costs little, so shares are smaller than those of the Python reader.
const DEFAULT_SPLIT_BYTES: u64 = 128 << 20;
/// What `next` returns at the end.
const END: jint = -1;

/// `static native String plan(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_plan<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, |request| {
        requests::plan(request, DEFAULT_SPLIT_BYTES)
    })
}

/// `static native String offsets(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_offsets<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, |request| {
        requests::offsets(request, DEFAULT_SPLIT_BYTES)
    })
}

/// `static native String schema(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_schema<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, requests::schema)
}

/// `static native String push(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_push<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, requests::push)
}

/// `static native String summarise(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_summarise<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> JString<'local> {
    answer(&mut env, &request, |request| {
        requests::summarise(request, DEFAULT_SPLIT_BYTES)
    })
}

/// `static native long open(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_open<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> jlong {
    env.with_env(|env| handles::open(&request.try_to_string(env)?))
        .resolve::<Throws>()
}

/// `static native int next(long handle, long[] addresses)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_next<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
    addresses: JLongArray<'local>,
) -> jint {
    env.with_env(|env| {
        let rows = handles::next(handle, |rows, numbers| {
            let len = addresses.len(env)?;
            if len < numbers.len() {
                return Err(NativeError::Failed(format!(
                    "addresses: {len} numbers are too few; give room for {}",
                    numbers.len()
                )));
            }
            addresses.set_region(env, 0, numbers)?;
            Ok(rows as jint)
        })?;
        Ok(rows.unwrap_or(END))
    })
    .resolve::<Throws>()
}

/// `static native String lost(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_lost<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) -> JString<'local> {
    env.with_env(|env| {
        let ranges = handles::lost(handle)?;
        let answer = requests::lost(&ranges).map_err(NativeError::from)?;
        Ok(JString::new(env, answer)?)
    })
    .resolve::<Throws>()
}

/// `static native void close(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_close<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) {
    env.with_env(|_| {
        handles::close(handle);
        Ok::<_, NativeError>(())
    })
    .resolve::<Throws>();
}

/// `static native void release(String lease)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_Native_release<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    lease: JString<'local>,
) {
    tell(&mut env, &lease, requests::finish);
}
