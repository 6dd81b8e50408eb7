use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::connection::tests::connection;

#[test]
fn connection_whose_time_was_extended_while_its_timer_ran_gets_a_new_timer() {
    let (second, start) = (Duration::from_secs(1), Instant::now());
    let poll = mio::Poll::new().unwrap();
    let mut connections = Connections::new(poll.registry().try_clone().unwrap());
    let connection = connection(1, start);
    let held_back = Arc::clone(&connection.held_back);
    connections.add(connection).unwrap();
    let reference = connections.next_queued().unwrap();
    let mut timers = HeldBackTimers::default();
    held_back.hold_back(second, start);
    timers.set_if_held_back(reference, &mut connections, start);
    assert_eq!(timers.next(), Some(start + second));
    held_back.hold_back(3 * second, start);
    timers.release_due(&mut connections, start + second);
    assert_eq!(connections.queued(), 0);
    assert_eq!(timers.next(), Some(start + 3 * second));
    timers.release_due(&mut connections, start + 3 * second);
    assert!(connections.next_queued() == Some(reference) && !held_back.is_set());
    assert_eq!(timers.next(), None);
}
