//! Asks a schema registry for schemas, over plain HTTP.
//!
//! ```text
//! GET {url}/schemas/ids/{id}                          -> {"schema": text}       Confluent's API
//! GET {url}/subjects/{subject}/versions/latest        -> {"schema": text}       Confluent's API
//! GET {url}/apis/registry/v2/ids/globalIds/{id}       -> the schema             Apicurio's own API
//! ```
//!
//! Every request ends after [`TIMEOUT`]. Nothing is kept: the caller asks once for each id.

use std::time::Duration;

use serde_json::Value;

use super::error::{Result, ValueError, invalid};
use super::spec::Framing;

/// The longest time for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// A mistake in the option `schemaRegistryUrl`.
pub(super) fn check(url: &str) -> Result<()> {
    if url.starts_with("http://") {
        return Ok(());
    }
    invalid(format!(
        "schemaRegistryUrl: {url} does not begin with http://; name a registry that answers plain HTTP, or save the \
         schema and name the file in valueSchemaFile"
    ))
}

/// The schema of an id.
pub(super) fn schema(url: &str, framing: Framing, id: u64) -> Result<String> {
    let base = url.trim_end_matches('/');
    if framing == Framing::Apicurio {
        return get(
            url,
            &format!("{base}/apis/registry/v2/ids/globalIds/{id}"),
            &format!("schema id {id}"),
        );
    }
    let answer = get(url, &format!("{base}/schemas/ids/{id}"), &format!("schema id {id}"))?;
    text_of(url, &answer)
}

/// The latest schema of a subject.
pub(super) fn latest(url: &str, subject: &str) -> Result<String> {
    let base = url.trim_end_matches('/');
    let path: String = subject.bytes().map(escaped).collect();
    let answer = get(
        url,
        &format!("{base}/subjects/{path}/versions/latest"),
        &format!("subject {subject}"),
    )?;
    text_of(url, &answer)
}

/// A byte of a path, in per cent where it has a meaning in one.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

fn text_of(url: &str, answer: &str) -> Result<String> {
    let parsed: Option<Value> = serde_json::from_str(answer).ok();
    let schema = parsed.as_ref().and_then(|it| it["schema"].as_str());
    schema.map(str::to_owned).ok_or_else(|| {
        ValueError::Registry(format!(
            "schemaRegistryUrl: {url} answered without a schema; is it the address of a schema registry?"
        ))
    })
}

fn get(url: &str, address: &str, what: &str) -> Result<String> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false);
    let agent = ureq::Agent::new_with_config(config.build());
    let unreachable = |error: ureq::Error| {
        ValueError::Registry(format!(
            "schemaRegistryUrl: {url} cannot be asked for {what} ({error}); is the registry running, and reachable \
             from here?"
        ))
    };
    let mut response = agent.get(address).call().map_err(unreachable)?;
    let status = response.status().as_u16();
    if status == 404 {
        return Err(ValueError::Registry(format!(
            "schemaRegistryUrl: {url} has no {what}; name the registry that the values were written with"
        )));
    }
    if status != 200 {
        return Err(ValueError::Registry(format!(
            "schemaRegistryUrl: {url} answered the question for {what} with the HTTP status {status}"
        )));
    }
    response
        .body_mut()
        .with_config()
        .limit(MAX_ANSWER_BYTES)
        .read_to_string()
        .map_err(unreachable)
}

#[cfg(test)]
mod tests;
