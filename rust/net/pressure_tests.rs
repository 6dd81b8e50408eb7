use super::*;
use crate::connection::tests::connection;
use broker::testing::Fixture;

const LANE: usize = 2;

fn connections(count: u64) -> (Connections, Vec<ConnectionRef>) {
    let poll = mio::Poll::new().unwrap();
    let mut connections = Connections::new(poll.registry().try_clone().unwrap());
    for id in 0..count {
        connections.add(connection(id, Instant::now())).unwrap();
    }
    let references = connections.select(|_| true);
    (connections, references)
}

// It received its frame when an event came, before its turn in the lane, and was served. As the lane's first it would
// never receive anything, and all others would wait for it.
#[test]
fn connection_that_went_on_by_itself_is_not_the_first_of_its_lane() {
    let fixture = Fixture::new(1);
    let broker = &*fixture.broker;
    let mut held = broker.control().arriving.account();
    let (mut connections, of) = connections(3);
    let mut pressure = Pressure::new(Instant::now());
    held.set(broker.control().arriving.limit());
    for &reference in &of {
        let connection = connections.get_mut(reference).unwrap();
        assert!(!pressure.lets_in(connection, LANE, broker));
    }
    held.set(0);
    assert!(pressure.lets_in(connections.get_mut(of[0]).unwrap(), LANE, broker));
    held.set(broker.control().arriving.limit());
    assert!(pressure.next_starved(LANE, &mut connections, broker) == Some(of[1]));
    assert!(
        pressure.next_starved(LANE, &mut connections, broker).is_none(),
        "one at a time"
    );
}

#[test]
fn connection_that_is_not_served_now_is_not_the_first_of_its_lane() {
    let fixture = Fixture::new(1);
    let broker = &*fixture.broker;
    let (mut connections, of) = connections(2);
    let mut pressure = Pressure::new(Instant::now());
    let mut held = broker.control().arriving.account();
    held.set(broker.control().arriving.limit());
    for &reference in &of {
        let connection = connections.get_mut(reference).unwrap();
        assert!(!pressure.lets_in(connection, LANE, broker));
    }
    connections.get_mut(of[0]).unwrap().wait_for(7, true);
    assert!(pressure.next_starved(LANE, &mut connections, broker) == Some(of[1]));
}
