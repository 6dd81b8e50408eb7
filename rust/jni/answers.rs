//! Requests and answers in JSON, and blocks of rows, as the natives of several classes have them.

use jni::objects::{JByteArray, JString};
use jni::sys::jint;
use jni::{Env, EnvUnowned};

use super::errors::{NativeError, Throws};

/// Answers a request.
pub(super) fn answer<'local, E: Into<NativeError>>(
    env: &mut EnvUnowned<'local>,
    request: &JString<'local>,
    call: impl FnOnce(&str) -> Result<String, E>,
) -> JString<'local> {
    env.with_env(|env| {
        let request = request.try_to_string(env)?;
        let answer = call(&request).map_err(Into::into)?;
        Ok::<_, NativeError>(JString::new(env, answer)?)
    })
    .resolve::<Throws>()
}

/// Makes a call that answers nothing.
pub(super) fn tell<'local, E: Into<NativeError>>(
    env: &mut EnvUnowned<'local>,
    request: &JString<'local>,
    call: impl FnOnce(&str) -> Result<(), E>,
) {
    env.with_env(|env| call(&request.try_to_string(env)?).map_err(Into::into))
        .resolve::<Throws>();
}

/// Makes a call with the first `length` bytes of a block.
pub(super) fn with_block<T>(
    env: &Env<'_>,
    block: &JByteArray<'_>,
    length: jint,
    call: impl FnOnce(&[u8]) -> Result<T, NativeError>,
) -> Result<T, NativeError> {
    let bytes = env.convert_byte_array(block)?;
    let rows = usize::try_from(length).ok().and_then(|length| bytes.get(..length));
    let rows = rows.ok_or_else(|| {
        let size = bytes.len();
        NativeError::Failed(format!("length: {length} is not within a block of {size} bytes"))
    })?;
    call(rows)
}
