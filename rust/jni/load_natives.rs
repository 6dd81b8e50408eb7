//! The natives of the Java class `io.kafkastore.spark.NativeLoad`, by the names under which a JVM looks for them.
//!
//! Each one catches panics (`with_env`), throws errors, and returns 0 or null with them.

#![expect(
    unsafe_code,
    reason = "an exported name: sound because nothing else in the library has a name that begins with Java_"
)]

use std::sync::LazyLock;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};

use super::answers::with_block;
use super::errors::{NativeError, Throws};
use super::numbered::Numbered;
use producer::load_requests::LoadWriter;

static LOADS: LazyLock<Numbered<LoadWriter>> = LazyLock::new(|| Numbered::new("load"));

/// `static native long open(String request)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeLoad_open<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    request: JString<'local>,
) -> jlong {
    env.with_env(|env| {
        let writer = LoadWriter::open(&request.try_to_string(env)?)?;
        Ok::<_, NativeError>(LOADS.insert(writer))
    })
    .resolve::<Throws>()
}

/// `static native void append(long handle, byte[] block, int length)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeLoad_append<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
    block: JByteArray<'local>,
    length: jint,
) {
    env.with_env(|env| {
        with_block(env, &block, length, |rows| {
            Ok(LOADS.find(handle)?.lock().append(rows)?)
        })
    })
    .resolve::<Throws>();
}

/// `static native String finish(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeLoad_finish<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) -> JString<'local> {
    env.with_env(|env| {
        let answer = LOADS.find(handle)?.lock().finish()?;
        Ok::<_, NativeError>(JString::new(env, answer)?)
    })
    .resolve::<Throws>()
}

/// `static native void close(long handle)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_kafkastore_spark_NativeLoad_close<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    handle: jlong,
) {
    env.with_env(|_| {
        LOADS.remove(handle);
        Ok::<_, NativeError>(())
    })
    .resolve::<Throws>();
}
