use super::*;

fn parse(pairs: &[(&str, &str)]) -> Result<ConnectionOptions> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    ConnectionOptions::parse(&pairs.collect())
}

#[test]
fn without_keys_nothing_is_limited() {
    let pairs = [
        ("max.connection.creation.rate", "2147483647"),
        ("max.connections.per.ip.overrides", ""),
    ];
    assert_eq!(parse(&pairs).unwrap(), ConnectionOptions::default());
}

#[test]
fn listener_has_its_own_limits_beside_the_broker_s() {
    let options = parse(&[
        ("max.connection.creation.rate", "100"),
        ("listener.name.external.max.connection.creation.rate", "5"),
        ("listener.name.external.max.connections", "7"),
    ])
    .unwrap();
    assert_eq!((options.creation_rate as i64, options.max), (100, usize::MAX));
    let external = ListenerLimits {
        max: 7,
        creation_rate: 5.0,
    };
    assert_eq!(options.of_listener("EXTERNAL"), external);
    assert_eq!(options.of_listener("INTERNAL"), ListenerLimits::default());
}

#[test]
fn addresses_override_the_limit_of_connections() {
    let options = parse(&[("max.connections.per.ip.overrides", "10.0.0.1:5,::2:7,::ffff:10.0.0.2:8")]).unwrap();
    let of = |ip: &str| options.max_of_ip.get(&ip.parse::<IpAddr>().unwrap()).copied();
    assert_eq!((of("10.0.0.1"), of("::2"), of("10.0.0.2")), (Some(5), Some(7), Some(8)));
    for wrong in ["10.0.0.1", "10.0.0.1:x", "a.host:1"] {
        let error = parse(&[("max.connections.per.ip.overrides", wrong)]).unwrap_err();
        assert!(error.to_string().contains(wrong), "{error}");
    }
}
