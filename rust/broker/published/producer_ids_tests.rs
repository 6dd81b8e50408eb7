use super::*;

fn asked(events: &EventQueue) -> usize {
    events
        .take(usize::MAX)
        .iter()
        .filter(|event| **event == Event::ProducerIdsLow)
        .count()
}

#[test]
fn an_id_is_given_once_and_blocks_follow_each_other() {
    let (ids, events) = (ProducerIds::default(), EventQueue::new().unwrap());
    assert_eq!(ids.take(&events), None);
    ids.add(1000, 1001);
    ids.add(5000, 5000);
    let taken: Vec<_> = std::iter::from_fn(|| ids.take(&events)).collect();
    assert_eq!(taken, [1000, 1001, 5000]);
}

#[test]
fn the_next_block_is_asked_for_once_and_in_time() {
    let (ids, events) = (ProducerIds::default(), EventQueue::new().unwrap());
    ids.add(0, 999);
    for _ in 0..900 {
        ids.take(&events);
    }
    assert_eq!(asked(&events), 0);
    for _ in 0..100 {
        ids.take(&events);
    }
    assert_eq!(asked(&events), 1);
    ids.add(1000, 1999);
    for _ in 0..901 {
        ids.take(&events);
    }
    assert_eq!(asked(&events), 1);
}

#[test]
fn the_last_id_of_all_ends_its_block() {
    let (ids, events) = (ProducerIds::default(), EventQueue::new().unwrap());
    ids.add(i64::MAX, i64::MAX);
    assert_eq!(ids.take(&events), Some(i64::MAX));
    assert_eq!(ids.take(&events), None);
}
