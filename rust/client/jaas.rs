//! A JAAS configuration of one login module, as `sasl.jaas.config` holds it (KIP-85):
//!
//! ```text
//! org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" user_alice="...";
//! ```
//!
//! Comments (`//`, `/* */`), quoted and bare values, and escapes in quotes are read. No message has a value, which may
//! be a password. Never: loads a class.

use std::collections::BTreeMap;

const FLAGS: [&str; 4] = ["required", "requisite", "sufficient", "optional"];

/// The Java name of a login module, and its options.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginModule {
    /// The class.
    pub name: String,
    /// Of each name the last value.
    pub options: BTreeMap<String, String>,
}

#[derive(PartialEq, Eq)]
enum Token {
    Text(String),
    Equals,
    Semicolon,
}

/// The one login module of a configuration; else what is wrong, as the end of a sentence.
pub fn parse(text: &str) -> Result<LoginModule, String> {
    let mut tokens = tokens(text)?.into_iter();
    let (Some(Token::Text(name)), Some(Token::Text(flag))) = (tokens.next(), tokens.next()) else {
        return Err("give the class of a login module, required, its options and a semicolon".to_owned());
    };
    if !FLAGS.contains(&flag.to_lowercase().as_str()) {
        return Err(format!("the word after {name} has to be {}", FLAGS.join(" or ")));
    }
    let mut options = BTreeMap::new();
    loop {
        let option = match tokens.next() {
            None => return Err("it does not end with a semicolon".to_owned()),
            Some(Token::Semicolon) => break,
            Some(Token::Text(option)) => option,
            Some(Token::Equals) => return Err(NO_OPTION.to_owned()),
        };
        let (Some(Token::Equals), Some(Token::Text(value))) = (tokens.next(), tokens.next()) else {
            return Err(NO_OPTION.to_owned());
        };
        options.insert(option, value);
    }
    if tokens.next().is_some() {
        return Err("give one login module; the key of each mechanism has its own".to_owned());
    }
    Ok(LoginModule { name, options })
}

const NO_OPTION: &str = "an option is not name=value, as in user_alice=\"...\"; the last ends with a semicolon";

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(end) = rest.strip_prefix("/*").and_then(|inner| inner.find("*/")) {
            rest = &rest[end + 4..];
        } else if first == '=' || first == ';' {
            found.push(if first == '=' { Token::Equals } else { Token::Semicolon });
            rest = &rest[1..];
        } else if first == '"' || first == '\'' {
            let (value, after) = quoted(&rest[1..], first).ok_or("a quotation mark is not closed")?;
            found.push(Token::Text(value));
            rest = after;
        } else {
            let is_end = |c: char| c.is_whitespace() || ['=', ';', '"', '\''].contains(&c);
            let end = rest.find(is_end).unwrap_or(rest.len());
            found.push(Token::Text(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    Ok(found)
}

/// The value up to the mark, and what comes after it; `None` when a line or the text ends before.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == mark => return Some((value, &text[at + 1..])),
            '\n' => return None,
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
#[path = "jaas_tests.rs"]
mod tests;
