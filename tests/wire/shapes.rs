//! Every request layout of the control plane's decoder: its program, and bodies that it encoded itself.

use std::borrow::Cow;

use protocol::Shape;

use crate::fixtures::layouts;

#[test]
fn bodies_of_every_request_pass_unchanged_and_each_truncation_is_refused() {
    let layouts = layouts();
    let versions: usize = layouts.iter().map(|layout| layout.names.split(',').count()).sum();
    assert!(versions > 300, "only {versions} request versions in the fixture");
    for layout in layouts {
        let shape = Shape::parse(&layout.program).unwrap();
        for body in &layout.bodies {
            let sane = shape.sanitize(body);
            assert!(
                matches!(&sane, Ok(Cow::Borrowed(out)) if out == body),
                "{}: {sane:x?}",
                layout.names
            );
            for end in 0..body.len() {
                assert!(
                    shape.sanitize(&body[..end]).is_err(),
                    "{} cut at {end} of {}",
                    layout.names,
                    body.len()
                );
            }
        }
    }
}

#[test]
fn every_truncation_of_a_program_is_refused() {
    for layout in layouts() {
        for end in 0..layout.program.len() {
            assert!(
                Shape::parse(&layout.program[..end]).is_err(),
                "{} cut at {end}",
                layout.names
            );
        }
    }
}

#[test]
fn a_body_with_any_byte_changed_is_refused_or_comes_out_sane() {
    for layout in layouts() {
        let shape = Shape::parse(&layout.program).unwrap();
        for body in &layout.bodies {
            for at in 0..body.len() {
                for value in [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, body[at] ^ 1] {
                    let mut changed = body.clone();
                    changed[at] = value;
                    let Ok(sane) = shape.sanitize(&changed) else { continue };
                    assert!(sane.len() <= changed.len());
                    let again = shape.sanitize(&sane);
                    assert!(
                        matches!(again, Ok(Cow::Borrowed(_))),
                        "{} byte {at} = {value}: {again:?}",
                        layout.names
                    );
                }
            }
        }
    }
}
