use std::time::Duration;

use super::*;
use broker::{Attempt, Tried, Waiter};

fn control() -> Operation {
    Operation {
        connection: ConnectionRef { key: 0, id: 1 },
        framing: Framing {
            correlation_id: 7,
            is_flexible: false,
            throttle_at: None,
        },
        client: ClientInfo::nobody().into(),
        parked: Parked::Control {
            api_key: 3,
            api_version: 1,
            body: None,
        },
    }
}

#[test]
fn operations_come_due_in_the_order_of_their_deadlines() {
    let now = Instant::now();
    let mut operations = Operations::new(0, 2);
    let (a, b) = (operations.number(), operations.number());
    operations.park(a, control(), Some(now + Duration::from_millis(20)));
    operations.park(b, control(), Some(now + Duration::from_millis(10)));
    assert_eq!(operations.pop_due(now), None);
    let later = now + Duration::from_millis(20);
    assert_eq!(
        (
            operations.pop_due(later),
            operations.pop_due(later),
            operations.pop_due(later)
        ),
        (Some(b), Some(a), None)
    );
}

struct PutOff(Instant);

impl Delayed for PutOff {
    fn watch(&self, _: &Waiter) {}

    fn forget(&self, _: &Waiter) {}

    fn try_complete(&mut self, _: &Attempt<'_>, _: &mut Vec<u8>) -> Tried {
        Tried::Waits
    }

    fn deadline(&self) -> Instant {
        self.0
    }
}

#[test]
fn an_operation_whose_deadline_is_put_off_comes_due_at_the_later_time() {
    let now = Instant::now();
    let (early, late) = (now + Duration::from_millis(10), now + Duration::from_millis(20));
    let mut operations = Operations::new(0, 1);
    let number = operations.number();
    let parked = Parked::Delayed(Box::new(PutOff(late)));
    operations.park(number, Operation { parked, ..control() }, Some(early));
    assert_eq!(operations.pop_due(early), None);
    assert_eq!(operations.next_deadline(), Some(late));
    assert_eq!(operations.pop_due(late), Some(number));
    assert_eq!(operations.next_deadline(), None);
}

#[test]
fn an_operation_is_taken_once() {
    let mut operations = Operations::new(0, 1);
    let number = operations.number();
    operations.park(number, control(), None);
    assert!(operations.take(number).is_some());
    assert!(operations.take(number).is_none());
}

#[test]
fn a_number_tells_its_loop() {
    for index in 0..3 {
        let mut operations = Operations::new(index, 3);
        assert!((0..10).all(|_| operations.number() % 3 == index as u64));
    }
}
