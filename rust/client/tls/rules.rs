//! `ssl.principal.mapping.rules`: how the name in a client's certificate becomes the name of its principal (KIP-371).
//!
//! ```text
//! rules  rule ("," rule)*
//! rule   "DEFAULT" | "RULE:" pattern "/" replacement "/" ["L" | "U"]
//! ```
//! The first rule whose pattern matches the whole name decides; `DEFAULT` takes the name as it is. A name that no rule
//! matches is refused. A slash in a pattern or replacement stands behind a backslash.

use regex::{Captures, Regex};

const KEY: &str = "ssl.principal.mapping.rules";
/// Largest compiled pattern; a longer one would be a mistake.
const MAX_PATTERN_BYTES: usize = 1 << 20;

enum Case {
    AsIs,
    Lower,
    Upper,
}

enum Rule {
    Default,
    Replace {
        pattern: Regex,
        replacement: String,
        case: Case,
    },
}

/// See the module.
pub struct MappingRules(Vec<Rule>);

impl MappingRules {
    /// Reads the rules. An error is a sentence that names the key and the rule.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rules = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("DEFAULT") {
                rules.push(Rule::Default);
                rest = after;
            } else {
                let (rule, after) = replace(rest)?;
                rules.push(rule);
                rest = after;
            }
            rest = rest.trim_start_matches([' ', '\t']);
            rest = match rest.strip_prefix([',', '\n']) {
                Some(next) => next.trim_start(),
                None if rest.is_empty() => rest,
                None => return Err(wrong(rest)),
            };
        }
        if rules.is_empty() {
            rules.push(Rule::Default);
        }
        Ok(Self(rules))
    }

    /// The principal's name for the name in a certificate; `None` when no rule matches.
    pub fn apply(&self, subject: &str) -> Option<String> {
        self.0.iter().find_map(|rule| match rule {
            Rule::Default => Some(subject.to_owned()),
            Rule::Replace {
                pattern,
                replacement,
                case,
            } => {
                let found = expand(&pattern.captures(subject)?, replacement);
                Some(match case {
                    Case::AsIs => found,
                    Case::Lower => found.to_lowercase(),
                    Case::Upper => found.to_uppercase(),
                })
            }
        })
    }
}

fn wrong(rule: &str) -> String {
    format!("{KEY} has {rule}, which is no rule; write DEFAULT or RULE:pattern/replacement/ with L or U behind it")
}

fn replace(text: &str) -> Result<(Rule, &str), String> {
    let malformed = || wrong(text);
    let rest = text.strip_prefix("RULE:").ok_or_else(malformed)?;
    let (pattern, rest) = until_slash(rest).ok_or_else(malformed)?;
    let (replacement, rest) = until_slash(rest).ok_or_else(malformed)?;
    let (case, rest) = match rest.as_bytes().first() {
        Some(b'L') => (Case::Lower, &rest[1..]),
        Some(b'U') => (Case::Upper, &rest[1..]),
        _ => (Case::AsIs, rest),
    };
    let pattern = regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|_| format!("{KEY} has the pattern {pattern}, which is no regular expression"))?;
    Ok((
        Rule::Replace {
            pattern,
            replacement: replacement.to_owned(),
            case,
        },
        rest,
    ))
}

/// What stands before the next slash without a backslash, and what stands behind it.
fn until_slash(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '/' if !is_escaped => return Some((&text[..at], &text[at + 1..])),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

/// The replacement with the groups in the places of `$1`, as Java does: the number is as long as such a group exists.
fn expand(captures: &Captures<'_>, replacement: &str) -> String {
    let mut out = String::new();
    let mut letters = replacement.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            '$' => {
                let mut group = 0usize;
                while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if group > 0 && longer >= captures.len() {
                        break;
                    }
                    group = longer;
                    letters.next();
                }
                out.push_str(captures.get(group).map_or("", |found| found.as_str()));
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
