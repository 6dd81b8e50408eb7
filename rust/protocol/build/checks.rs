//! What the grammar alone does not say of a well-formed table.

use super::emit::PRIMITIVES;
use super::grammar::{Message, NO_END, Range};

/// Structs nest at most this deep, so the walk over any bytes has an end.
const MAX_DEPTH: usize = 16;

/// Checks one message; the error names it.
pub fn check(message: &Message) -> Result<(), String> {
    let name = &message.name;
    let fail = |error: String| Err(format!("{name}: {error}"));
    if message.versions.last < message.versions.first || message.versions.last == NO_END {
        return fail("versions have a first and a last".to_owned());
    }
    if message
        .typed
        .is_some_and(|typed| !is_within(typed, Some(message.versions)))
    {
        return fail("the typed versions are not versions of it".to_owned());
    }
    for one in &message.structs {
        for (nth, field) in one.fields.iter().enumerate() {
            if one.fields[..nth].iter().any(|before| before.name == field.name) {
                return fail(format!("two fields {}.{}", one.name, field.name));
            }
            let typed_null = message.typed.zip(field.nullable).filter(|(typed, null)| {
                let first = typed.first.max(field.versions.first);
                let last = typed.last.min(field.versions.last);
                let is_none = null.first > last || null.last < first;
                !is_none && (null.first > first || null.last < last)
            });
            if typed_null.is_some() {
                return fail(format!(
                    "{}.{} may be null in some typed versions only",
                    one.name, field.name
                ));
            }
            let is_struct = message.structs.iter().any(|part| part.name == field.kind);
            if !is_struct && !PRIMITIVES.iter().any(|(kind, _)| *kind == field.kind) {
                return fail(format!(
                    "{}.{} has the unknown type {}",
                    one.name, field.name, field.kind
                ));
            }
            if field.tag.is_some() && !is_within(field.versions, message.flexible) {
                return fail(format!(
                    "{}.{} has a tag in a version without tags",
                    one.name, field.name
                ));
            }
            if field.tag.is_some() && one.fields[..nth].iter().any(|before| before.tag == field.tag) {
                return fail(format!("{}.{} has the tag of another field", one.name, field.name));
            }
            let may_be_null = field.is_array || is_struct || matches!(&*field.kind, "string" | "bytes" | "records");
            if (field.nullable.is_some() && !may_be_null)
                || (field.default.as_deref() == Some("null") && field.nullable.is_none())
            {
                return fail(format!("{}.{} cannot be null", one.name, field.name));
            }
        }
    }
    check_depth(message, 0, 0)
}

fn is_within(inner: Range, outer: Option<Range>) -> bool {
    outer.is_some_and(|outer| inner.first >= outer.first && inner.last <= outer.last)
}

fn check_depth(message: &Message, place: usize, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{}: structs nest too deep, or in themselves", message.name));
    }
    for field in &message.structs[place].fields {
        if let Some(part) = message.structs.iter().position(|part| part.name == field.kind) {
            check_depth(message, part, depth + 1)?;
        }
    }
    Ok(())
}
