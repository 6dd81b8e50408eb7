use super::*;

const WINDOW_MS: u64 = 11_000;

fn of(client_id: &str) -> Sharers<'_> {
    Sharers { user: "", client_id }
}

#[test]
fn clients_that_share_a_limit_share_its_counter_and_others_do_not() {
    let slots = Slots::new(Counter::new, QuotaWindow::default());
    let (first, again, other) = (slots.get(of("a"), 0), slots.get(of("a"), 0), slots.get(of("b"), 0));
    assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
}

#[test]
fn idle_counter_is_dropped_unless_a_connection_holds_it() {
    let slots = Slots::new(Counter::new, QuotaWindow::default());
    let held = slots.get(of("held"), 0);
    slots.get(of("used"), 0).record(1.0, 1.0, 5);
    slots.get(of("unused"), 0);
    slots.sweep(5);
    assert_eq!(slots.len(), 2);
    slots.sweep(5 + WINDOW_MS);
    assert_eq!(slots.len(), 1);
    assert!(Arc::ptr_eq(&held, &slots.get(of("held"), 0)));
}

#[test]
fn endless_client_ids_take_bounded_memory_and_share_a_counter_in_the_end() {
    let slots = Slots::new(Counter::new, QuotaWindow::default());
    for i in 0..MAX_SLOTS + 10 {
        slots.get(of(&i.to_string()), 0).record(1.0, 1e9, 0);
    }
    assert_eq!(slots.len(), MAX_SLOTS);
    let (late, later) = (slots.get(of("late"), 0), slots.get(of("later"), 0));
    assert!(Arc::ptr_eq(&late, &later));
    let after = slots.get(of("after"), WINDOW_MS + 1);
    assert!(!Arc::ptr_eq(&late, &after), "the window is over: there is room again");
    assert_eq!(slots.len(), 1);
}

#[test]
fn full_table_is_looked_through_once_a_second_at_most() {
    let slots = Slots::new(Counter::new, QuotaWindow::default());
    for i in 0..MAX_SLOTS {
        slots.get(of(&i.to_string()), 0).record(1.0, 1e9, 0);
    }
    let looked_ms = WINDOW_MS - 500;
    let spare = slots.get(of("early"), looked_ms);
    let soon = slots.get(of("soon"), looked_ms + FULL_MS - 1);
    assert!(
        Arc::ptr_eq(&spare, &soon),
        "the others are idle by now, and nobody looks"
    );
    let late = slots.get(of("late"), looked_ms + FULL_MS);
    assert!(!Arc::ptr_eq(&spare, &late));
}
