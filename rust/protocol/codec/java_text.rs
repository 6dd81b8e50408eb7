//! Strings that are not UTF-8, as Kafka's brokers read them: what is malformed becomes U+FFFD.

/// The text that Java reads: as Rust, but for what encodes a half of a surrogate pair, which is one U+FFFD.
#[cold]
pub fn lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(2).position(|two| matches!(two, [0xed, 0xa0..=0xbf])) {
        let (before, surrogate) = rest.split_at(at);
        out.push_str(&String::from_utf8_lossy(before));
        out.push('\u{fffd}');
        let has_third = matches!(surrogate.get(2), Some(0x80..=0xbf));
        rest = &surrogate[2 + usize::from(has_third)..];
    }
    out.push_str(&String::from_utf8_lossy(rest));
    out
}
