//! The rules as a table of names.

use super::*;

fn name(offset: i64, suffix: &str) -> String {
    crate::format::file_name(Offset(offset), suffix)
}

#[test]
fn each_name_gets_the_verdict_of_kafkas_protocol() {
    let names = [
        (name(0, ".log"), Verdict::Stays),
        (name(0, ".log.swap"), Verdict::TakesPlace(Offset(0), ".log")),
        (name(0, ".timeindex.swap"), Verdict::TakesPlace(Offset(0), ".timeindex")),
        (name(10, ".log.deleted"), Verdict::Goes),
        (name(10, ".snapshot.tmp"), Verdict::Goes),
        (name(20, ".log.cleaned"), Verdict::Goes),
        (name(20, ".log.swap"), Verdict::Goes),
        (name(30, ".index.swap"), Verdict::Goes),
        (name(30, ".log"), Verdict::Stays),
        ("leader-epoch-checkpoint.tmp".to_owned(), Verdict::Stays),
        ("notes.cleaned".to_owned(), Verdict::Stays),
        ("partition.metadata".to_owned(), Verdict::Stays),
    ];
    let rules = SwapRules::of(names.iter().map(|(name, _)| name.as_str()));
    for (name, verdict) in &names {
        assert_eq!(rules.verdict(name), *verdict, "{name}");
    }
    assert_eq!(rules.swapped_logs().collect::<Vec<_>>(), [Offset(0)]);
    assert!(rules.is_deleted(Offset(10)) && !rules.is_deleted(Offset(20)));
}

#[test]
fn swap_files_together_replace_what_lies_between_their_ends() {
    let names = [name(10, ".log.swap"), name(40, ".log.swap")];
    let rules = SwapRules::of(names.iter().map(String::as_str));
    let ends = |base| Ok::<_, ()>(Offset(if base == Offset(10) { 25 } else { 60 }));
    assert_eq!(
        rules.replaced(ends),
        Ok(Some(Offset(10)..Offset(60))),
        "the gap between them too"
    );
    assert_eq!(rules.replaced(|_| Err(())), Err(()));
    let none = SwapRules::of(std::iter::empty());
    assert_eq!(none.replaced(ends), Ok(None));
}

#[test]
fn a_check_passes_over_exactly_the_names_that_are_on_their_way() {
    let passing = |name| Passing::of(name);
    assert_eq!(passing("leader-epoch-checkpoint.tmp"), Some(Passing::OutOfUse));
    assert_eq!(passing("1.snapshot.deleted"), Some(Passing::OutOfUse));
    assert_eq!(passing("1.log.cleaned"), Some(Passing::Cleaned));
    assert_eq!(passing("1.log.swap"), Some(Passing::Swap("1.log")));
    assert_eq!(passing("1.log"), None);
    assert!(Passing::Swap("1.log").is_swap_log() && !Passing::Swap("1.index").is_swap_log());
}
