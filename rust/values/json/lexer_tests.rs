//! The lexer beside a parser that is known to be right.

use proptest::prelude::*;

use super::{Kind, Lexer, MAX_DEPTH, Span};

/// The whole input as one value.
fn whole(input: &[u8]) -> Option<Span> {
    let mut lexer = Lexer::new(input);
    let span = lexer.value(0).ok()?;
    lexer.finish().ok().map(|()| span)
}

#[test]
fn what_jackson_takes_beyond_the_standard_is_taken() {
    for text in [
        "'it'",
        r#"{'a': "b"}"#,
        "NaN",
        "-Infinity",
        "+INF",
        "-INF",
        "[Infinity]",
        r#""\'""#,
    ] {
        assert!(whole(text.as_bytes()).is_some(), "{text}");
    }
    for text in [
        "INF",
        "nan",
        "+1",
        "--1",
        "NaNs",
        "{a:1}",
        "/**/1",
        "\"\u{1}\"",
        r#""\x""#,
        r#""\u12g4""#,
        "1.",
        ".5",
    ] {
        assert!(whole(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn nesting_ends_at_a_depth_and_never_at_the_stack() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(whole(deep(MAX_DEPTH).as_bytes()).is_some());
    assert!(whole(deep(MAX_DEPTH + 1).as_bytes()).is_none());
    assert!(whole("{\"a\":".repeat(1_000_000).as_bytes()).is_none());
}

/// Documents of every kind, some with an error.
fn documents() -> impl Strategy<Value = String> {
    const TEXT: &str = "[ -~é\n]{0,20}";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| serde_json::to_string(&number).unwrap()),
        TEXT.prop_map(|text| serde_json::to_string(&text).unwrap()),
        TEXT.prop_map(|text| text),
        Just("01".to_owned()),
        Just("1e5".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let name = TEXT.prop_map(|text| serde_json::to_string(&text).unwrap());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec((name, inner), 0..5).prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

/// Whether the standard takes it; what Jackson takes beyond it is left out of the comparison.
fn is_json(input: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(input).is_ok()
}

proptest! {
    #[test]
    fn lexer_takes_what_serde_takes(text in documents(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut mutated = text.clone().into_bytes();
        if !mutated.is_empty() {
            let at = at.index(mutated.len());
            mutated[at] = byte;
        }
        for input in [text.as_bytes(), &mutated] {
            let is_plain = std::str::from_utf8(input).is_ok_and(|text| !text.contains(['\'', 'N', 'I']));
            if is_plain {
                prop_assert_eq!(whole(input).is_some(), is_json(input), "{}", String::from_utf8_lossy(input));
            }
        }
    }

    #[test]
    fn no_bytes_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(span) = whole(&input) {
            prop_assert!(span.end <= input.len() && span.start <= span.end);
        }
    }

    #[test]
    fn a_text_ends_at_its_quote(plain in "[^\"\\\\\u{0}-\u{1f}]{0,40}") {
        let input = format!("\"{plain}\"");
        let expected = Span { kind: Kind::Plain, start: 1, end: 1 + plain.len() };
        prop_assert_eq!(whole(input.as_bytes()), Some(expected));
    }
}
