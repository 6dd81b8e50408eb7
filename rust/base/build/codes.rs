//! The grammar of `errors.txt`, and the Rust table made of it.
//!
//! ```text
//! file := line*
//! line := code NAME ("retriable" | "fatal") exception NL    code: int16; exception: Kafka's class, "none" of NONE
//! ```
//! Retriable is what Kafka's clients send again by themselves: its exception is a `RetriableException`.

use std::fmt::Write as _;

/// The text of `codes.rs`.
pub fn emit(text: &str) -> Result<String, String> {
    let mut rows = String::new();
    let mut names = String::new();
    let mut previous = None;
    for (number, line) in text.lines().enumerate() {
        let fail = || format!("errors.txt:{}: not a code, a name, a kind and an exception", number + 1);
        let words: Vec<&str> = line.split(' ').collect();
        let [code, name, kind @ ("retriable" | "fatal"), exception] = words[..] else {
            return Err(fail());
        };
        let code: i16 = code.parse().map_err(|_| fail())?;
        if previous.is_some_and(|previous: i16| previous + 1 != code) {
            return Err(format!(
                "errors.txt:{}: the code before it is not the one below",
                number + 1
            ));
        }
        previous = Some(code);
        let is_retriable = kind == "retriable";
        let _ = writeln!(
            rows,
            "    ErrorFact {{ code: ErrorCode({code}), name: \"{name}\", is_retriable: {is_retriable}, exception: \
             \"{exception}\" }},"
        );
        let _ = writeln!(
            names,
            "    /// Kafka's `{name}`.\n    pub const {name}: Self = Self({code});"
        );
    }
    Ok(format!(
        "/// Every code, in order.\npub static ERRORS: &[ErrorFact] = &[\n{rows}];\n\nimpl ErrorCode {{\n{names}}}\n"
    ))
}
