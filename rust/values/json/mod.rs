//! JSON values: `lexer` finds the tokens, `text` undoes escapes, `decode` appends the wanted fields to columns.

mod decode;
mod lexer;
mod text;

pub(super) use decode::JsonReader;
