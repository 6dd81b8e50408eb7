use super::*;

struct World {
    rates: ConnectionRates,
    start: Instant,
}

impl World {
    fn new() -> Self {
        let start = Instant::now();
        Self {
            rates: ConnectionRates::new(QuotaWindow::default(), start),
            start,
        }
    }

    /// Opens connections at once; returns what became of the last one.
    fn open(&self, count: usize, last: u8, entrance: Entrance<'static>, after_ms: u64) -> Admission {
        let now = self.start + Duration::from_millis(after_ms);
        let admitted = (0..count).map(|_| self.rates.count([10, 0, 0, last].into(), entrance, now));
        admitted.last().unwrap()
    }
}

const fn at_rates(listener_rate: f64, broker_rate: f64) -> Entrance<'static> {
    Entrance {
        listener: "EXTERNAL",
        listener_rate,
        broker_rate: Some(broker_rate),
    }
}

const NO_LIMIT: Entrance<'_> = at_rates(f64::INFINITY, f64::INFINITY);
const AT_ONCE: Admission = Admission::Served(Duration::ZERO);

// KIP-612
#[test]
fn connection_above_the_rate_of_its_address_is_closed_after_a_sample_at_most_and_does_not_count() {
    let world = World::new();
    world.rates.publish(vec![(Some([10, 0, 0, 1].into()), 2.0)]);
    assert_eq!(world.open(20, 1, NO_LIMIT, 0), AT_ONCE);
    assert_eq!(
        world.open(1, 1, NO_LIMIT, 0),
        Admission::Closed(Duration::from_millis(500))
    );
    assert_eq!(
        world.open(100, 1, NO_LIMIT, 0),
        Admission::Closed(Duration::from_millis(500))
    );
    assert_eq!(world.open(100, 2, NO_LIMIT, 0), AT_ONCE, "another address");
    assert_eq!(world.open(2, 1, NO_LIMIT, 11_000), AT_ONCE);
}

// KIP-612
#[test]
fn addresses_without_a_rate_of_their_own_have_the_default_each() {
    let world = World::new();
    world
        .rates
        .publish(vec![(None, 1.0), (Some([10, 0, 0, 3].into()), 100.0)]);
    assert_eq!(world.open(10, 1, NO_LIMIT, 0), AT_ONCE);
    assert!(matches!(world.open(1, 1, NO_LIMIT, 0), Admission::Closed(_)));
    assert_eq!(world.open(10, 2, NO_LIMIT, 0), AT_ONCE);
    assert_eq!(world.open(1000, 3, NO_LIMIT, 0), AT_ONCE);
}

// KIP-612
#[test]
fn rates_of_broker_and_listener_pause_the_listener() {
    let world = World::new();
    assert_eq!(world.open(10, 1, at_rates(f64::INFINITY, 1.0), 0), AT_ONCE);
    let second = Admission::Served(Duration::from_secs(1));
    assert_eq!(world.open(1, 2, at_rates(f64::INFINITY, 1.0), 0), second);
    let world = World::new();
    assert_eq!(world.open(10, 1, at_rates(1.0, f64::INFINITY), 0), AT_ONCE);
    assert_eq!(world.open(1, 2, at_rates(1.0, f64::INFINITY), 0), second);
    assert_eq!(world.open(100, 1, NO_LIMIT, 0), AT_ONCE);
}

#[test]
fn figures_are_of_the_broker_of_each_listener_and_of_limited_addresses() {
    let world = World::new();
    world.rates.publish(vec![(Some([10, 0, 0, 1].into()), 2.0)]);
    world.open(20, 1, NO_LIMIT, 0);
    world.open(1, 1, NO_LIMIT, 0); // closed, and counted nowhere
    world.open(20, 2, NO_LIMIT, 0);
    world.open(1, 2, at_rates(1.0, f64::INFINITY), 0);
    let of_brokers = Entrance {
        listener: "BROKERS",
        listener_rate: f64::INFINITY,
        broker_rate: None,
    };
    world.rates.count([10, 0, 0, 2].into(), of_brokers, world.start);
    let (mut rows, left_out) = world.rates.figures(10, world.start);
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    let row = |label, name: &str, rate, throttle_time_ms, ip_throttle_time_ms| ConnectionFigures {
        label,
        name: name.to_owned(),
        rate,
        throttle_time_ms,
        ip_throttle_time_ms,
    };
    assert_eq!(left_out, 0);
    assert_eq!(
        rows,
        [
            row("", "", 4.1, 0.0, 0.0),
            row("ip", "10.0.0.1", 2.0, 0.0, 0.0),
            row("listener", "BROKERS", 0.1, 0.0, 0.0),
            row("listener", "EXTERNAL", 4.1, 1000.0, 500.0)
        ]
    );
    let (rows, left_out) = world.rates.figures(0, world.start);
    assert_eq!((rows.len(), left_out), (3, 1));
}
