//! The corrupt places of files that the broker has logged lately: every request may meet the same place again.
//!
//! It holds at most [`PLACES`] places and forgets each after [`AGAIN`]. It reads no clock and no file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::place::Position;

/// The shortest time between two log lines about one place.
const AGAIN: Duration = Duration::from_mins(1);
/// The most places that are logged in that time.
const PLACES: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct CorruptPlaces(HashMap<(PathBuf, Position), Instant>);

impl CorruptPlaces {
    /// Whether a place is to be logged now; if so, it counts as logged.
    pub fn is_news(&mut self, path: &Path, position: Position, now: Instant) -> bool {
        self.0
            .retain(|_, logged_at| now.saturating_duration_since(*logged_at) < AGAIN);
        let place = (path.to_path_buf(), position);
        if self.0.len() >= PLACES || self.0.contains_key(&place) {
            return false;
        }
        self.0.insert(place, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_place_is_logged_at_most_once_in_a_while_and_places_are_limited() {
        let (mut places, now, path) = (CorruptPlaces::default(), Instant::now(), Path::new("a.log"));
        let logged = (0..1000).filter(|at| places.is_news(path, Position(*at), now)).count();
        assert_eq!(logged, PLACES);
        assert!(!places.is_news(path, Position(0), now + AGAIN / 2));
        assert!(places.is_news(path, Position(0), now + AGAIN));
        assert!(!places.is_news(path, Position(0), now + AGAIN));
        assert!(places.is_news(Path::new("b.log"), Position(0), now + AGAIN));
    }
}
