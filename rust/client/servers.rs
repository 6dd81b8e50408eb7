//! Servers as `bootstrap.servers` writes them.

/// A server's host and port.
pub type Server = (String, u16);

const DEFAULT_PORT: &str = "9092";

/// The host of `:9092`, as Java reads an empty name.
const THIS_HOST: &str = "localhost";

/// A part of `bootstrap.servers` that names no server, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoServer {
    /// The part.
    pub text: String,
    /// As the end of a sentence.
    pub fix: &'static str,
}

/// Host and port of each server, in the order of the list; an IPv6 address stands in brackets.
pub fn parse_servers(bootstrap_servers: &str) -> Result<Vec<Server>, NoServer> {
    bootstrap_servers
        .split(',')
        .map(|text| server_of(text.trim()))
        .collect()
}

fn server_of(text: &str) -> Result<Server, NoServer> {
    let none = |fix| NoServer {
        text: text.to_owned(),
        fix,
    };
    let (host, port) = match text.rsplit_once(':') {
        Some(("", port)) => (THIS_HOST, port),
        Some(parts) if !text.ends_with(']') => parts,
        _ => (text, DEFAULT_PORT),
    };
    let is_in_brackets = host.starts_with('[') && host.ends_with(']');
    let bare = host.trim_matches(['[', ']']);
    let number = port
        .bytes()
        .all(|it| it.is_ascii_digit())
        .then(|| port.parse().ok())
        .flatten();
    let Some(number) = number.filter(|number| *number > 0 && !bare.is_empty()) else {
        return Err(none("give host:port, as localhost:9092"));
    };
    if host.contains(':') && !is_in_brackets {
        return Err(none("an IPv6 address stands in brackets, as [::1]:9092"));
    }
    Ok((bare.to_owned(), number))
}
