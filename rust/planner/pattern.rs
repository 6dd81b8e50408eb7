//! The regular expression of `subscribePattern`, which must match a whole name.
//!
//! Topic names are ASCII, so the expression is one over bytes, without tables of Unicode. Look-around and references to
//! groups, which other engines have, are mistakes here and never match something else silently.

use regex::bytes::{Regex, RegexBuilder};

use super::repr::quoted;
use super::{PlanError, Result};

/// A compiled `subscribePattern`.
#[derive(Debug, Clone)]
pub(super) struct NamePattern(Regex);

impl NamePattern {
    /// Compiles the expression; a mistake in it is one sentence.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let failed = |error: &regex::Error| {
            let reason = reason_of(error);
            PlanError::Invalid(format!(
                "subscribePattern: {} is no regular expression ({reason}); correct it",
                quoted(text)
            ))
        };
        let compile = |text: &str| RegexBuilder::new(text).unicode(false).build();
        // alone first: `a)(b` is no expression, but would become one inside of the group
        compile(text).map_err(|error| failed(&error))?;
        let whole = compile(&format!(r"\A(?:{text})\z"));
        whole.map(Self).map_err(|error| failed(&error))
    }

    /// Whether the whole name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }
}

/// The reason alone, without the drawing of the place above it.
fn reason_of(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
