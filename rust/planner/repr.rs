//! Values of options as sentences quote them. Nothing here decides what is a mistake.

/// The text in quotes on one line: single quotes, or double quotes when only single quotes are in it.
pub(super) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for character in text.chars() {
        match character {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' => quoted.push_str("\\\\"),
            it if it == quote => quoted.extend(['\\', it]),
            it if it.is_control() => quoted.extend(it.escape_default()),
            it => quoted.push(it),
        }
    }
    quoted.push(quote);
    quoted
}

#[cfg(test)]
mod tests {
    //! How values are quoted.

    use super::quoted;

    #[test]
    fn quoted_text_stays_on_one_line_and_ends_where_its_quote_ends() {
        assert_eq!(quoted("a"), "'a'");
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted("'\""), "'\\'\"'");
        assert_eq!(quoted("a\nb\\"), "'a\\nb\\\\'");
    }
}
