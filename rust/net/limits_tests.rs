use std::time::Duration;

use super::*;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

struct World {
    limits: ConnectionLimits,
    options: ConnectionOptions,
}

impl World {
    fn new(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self {
            limits: ConnectionLimits::new(2),
            options: ConnectionOptions::parse(&pairs.collect()).unwrap(),
        }
    }

    fn admit(&self, last: u8) -> bool {
        self.limits.admit(ip(last), 0, "INTERNAL", &self.options)
    }
}

#[test]
fn all_connections_together_are_limited() {
    let world = World::new(&[("max.connections", "2")]);
    assert!(world.admit(1) && world.admit(2));
    assert!(!world.admit(3));
    assert_eq!(world.limits.open(), 2, "a refused one is not counted");
    world.limits.release(ip(1), 0);
    assert!(world.admit(3));
}

#[test]
fn each_address_is_limited_by_itself() {
    let world = World::new(&[("max.connections.per.ip", "1")]);
    assert!(world.admit(1) && world.admit(2));
    assert!(!world.admit(1));
    world.limits.release(ip(2), 0);
    assert!(!world.admit(1));
    world.limits.release(ip(1), 0);
    assert!(world.admit(1));
}

#[test]
fn an_address_with_a_limit_of_its_own_has_no_other() {
    let overrides = ("max.connections.per.ip.overrides", "127.0.0.1:2,127.0.0.2:0");
    let world = World::new(&[("max.connections.per.ip", "1"), overrides]);
    assert!(world.admit(1) && world.admit(1) && !world.admit(1));
    assert!(!world.admit(2));
    assert!(world.admit(3) && !world.admit(3));
}

#[test]
fn a_listener_with_a_limit_of_its_own_is_full_by_itself() {
    let world = World::new(&[("listener.name.external.max.connections", "1")]);
    let external = |last| world.limits.admit(ip(last), 1, "EXTERNAL", &world.options);
    assert!(external(1) && !external(2));
    assert!(world.admit(1) && world.admit(2));
    world.limits.release(ip(1), 1);
    assert!(external(2));
}

#[test]
fn an_address_without_connections_takes_no_memory() {
    let world = World::new(&[]);
    assert!(world.admit(1));
    world.limits.release(ip(1), 0);
    world.limits.release(ip(1), 0);
    assert_eq!((world.limits.open(), world.limits.counts.lock().by_ip.len()), (0, 0));
}

#[test]
fn connections_that_are_turned_away_are_closed_when_their_time_is_over() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = || TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (now, mut turned_away) = (Instant::now(), RejectedConnections::default());
    for ms in [30, 10, 20] {
        turned_away.push(socket(), now + Duration::from_millis(ms));
    }
    assert_eq!(turned_away.next(), Some(now + Duration::from_millis(10)));
    assert_eq!(turned_away.close_due(now + Duration::from_millis(20)), 2);
    assert_eq!(turned_away.close_due(now + Duration::from_millis(20)), 0);
    assert!(turned_away.has_room());
}
