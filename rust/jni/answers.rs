//! Requests and answers in JSON, as the natives of both classes have them.

use jni::EnvUnowned;
use jni::objects::JString;

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
