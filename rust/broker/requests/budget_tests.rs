use super::*;

#[test]
fn charge_beyond_the_limit_is_refused_and_changes_nothing() {
    let budget = Budget::new(10);
    let first = budget.try_charge(7).unwrap();
    assert!(budget.try_charge(4).is_none());
    assert_eq!((budget.used(), first.amount()), (7, 7));
    assert!(budget.try_charge(3).is_some());
}

#[test]
fn dropped_charge_gives_back_what_it_took() {
    let budget = Budget::new(10);
    let mut account = budget.account();
    account.set(25);
    assert!(budget.is_used_up());
    account.set(4);
    assert_eq!(budget.used(), 4);
    drop(account);
    assert_eq!(budget.used(), 0);
}
