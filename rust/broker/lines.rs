//! Lines for the log that clients can cause: how many, how long, and with which characters.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Lines in each [`PERIOD`] at most; the others are counted.
pub const LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Period {
    since: Option<Instant>,
    lines: u32,
}

/// Limits how many lines there are.
#[derive(Default)]
pub struct LineLimit(Mutex<Period>);

impl LineLimit {
    /// The number of lines that were left out since the last line; `None` when this line is left out, too.
    pub fn next_line(&self) -> Option<u32> {
        let mut period = self.0.lock();
        let is_over = period.since.is_none_or(|since| since.elapsed() >= PERIOD);
        let left_out = if is_over { period.lines.saturating_sub(LINES) } else { 0 };
        if is_over {
            *period = Period {
                since: Some(Instant::now()),
                lines: 0,
            };
        }
        period.lines += 1;
        (period.lines <= LINES).then_some(left_out)
    }
}

/// A line of at most `most` characters, none of which moves a terminal's cursor or begins another line.
pub fn printable(line: &str, most: usize) -> String {
    let mut text = String::with_capacity(line.len().min(most));
    for (at, character) in line.chars().enumerate() {
        if at == most {
            text.push('…');
            break;
        }
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}
