//! Reads `bodies.txt`: a line `api kind version case hex` for each version of the APIs that the data plane answers,
//! written by kio 0.6.5, a codec that shares no code with ours.

/// One line of `bodies.txt`.
#[derive(Debug)]
pub struct Body {
    pub version: i16,
    pub bytes: Vec<u8>,
}

/// Every body, with its API and kind.
pub fn every_body() -> impl Iterator<Item = ([&'static str; 2], Body)> {
    include_str!("../fixtures/wire/bodies.txt").lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let body = Body {
            version: words[2].parse().unwrap(),
            bytes: from_hex(words[4]),
        };
        ([words[0], words[1]], body)
    })
}

/// The bodies of one API and kind; never none.
pub fn bodies(api: &str, kind: &str) -> Vec<Body> {
    let of_api = every_body().filter(|(of, _)| *of == [api, kind]);
    let bodies: Vec<Body> = of_api.map(|(_, body)| body).collect();
    assert!(!bodies.is_empty(), "no {api} {kind} in the fixture");
    bodies
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.trim_matches('-');
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}
