//! The record of a decision: that the transactions of a batch of a query are to be committed, whatever happens.
//!
//! It is the metadata of committed offsets, which are the number of the batch. A broker takes some 4 KiB of metadata
//! for an offset (`offset.metadata.max.bytes`), so a record of many transactions has several parts, each the offset of
//! a group of its own. No I/O here.
//!
//! ```text
//! group of part 0 := <prefix>;  of part n := <prefix>-decision-<n>
//! part 0          := "1 " query_id " " state " " parts " " text;  part n := text
//! state           := "committing" | "committed"
//! text of all     := base64(gzip(line*)), empty when committed
//! line            := id without the prefix, " ", producer_id, " ", epoch, "\n"
//! ```

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::committer::Prepared;
use record::{Codec, compress, decompress};

const VERSION: &str = "1";
const COMMITTING: &str = "committing";
const COMMITTED: &str = "committed";
/// With the fields before it below `offset.metadata.max.bytes`, which is 4096 by default.
const PART_BYTES: usize = 3900;
/// More than ten million transactions.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) query_id: String,
    /// Those that may not be committed yet; none once all are.
    pub(super) transactions: Vec<Prepared>,
}

/// The group that has a part.
pub(super) fn group_of(prefix: &str, part: usize) -> String {
    match part {
        0 => prefix.to_owned(),
        part => format!("{prefix}-decision-{part}"),
    }
}

impl Decision {
    /// The parts, of which the first is the one that counts the others; `None` when they cannot be written.
    pub(super) fn encode(&self, prefix: &str) -> Option<Vec<String>> {
        let Self { query_id, transactions } = self;
        if transactions.is_empty() {
            return Some(vec![format!("{VERSION} {query_id} {COMMITTED} 1 ")]);
        }
        let mut lines = String::new();
        for one in transactions {
            let own = one.transactional_id.strip_prefix(prefix)?;
            writeln!(lines, "{own} {} {}", one.producer_id, one.epoch).ok()?;
        }
        let mut packed = Vec::new();
        compress(Codec::Gzip, None, lines.as_bytes(), &mut packed).ok()?;
        let text = STANDARD.encode(packed);
        let chunks: Vec<&str> = (0..text.len())
            .step_by(PART_BYTES)
            .map(|at| text.get(at..(at + PART_BYTES).min(text.len())).unwrap_or_default())
            .collect();
        let count = chunks.len();
        let mut parts: Vec<String> = chunks.into_iter().map(str::to_owned).collect();
        parts[0] = format!("{VERSION} {query_id} {COMMITTING} {count} {}", parts[0]);
        Some(parts)
    }

    /// How many parts there are, as the first one says; `None` when it is none.
    pub(super) fn count(first: &str) -> Option<usize> {
        first.split(' ').nth(3)?.parse().ok()
    }

    /// `None` when the parts are not those of a decision.
    pub(super) fn decode(prefix: &str, parts: &[String]) -> Option<Self> {
        let mut fields = parts.first()?.splitn(5, ' ');
        let is_known = fields.next()? == VERSION;
        let query_id = fields.next()?.to_owned();
        let state = fields.next()?;
        let count: usize = fields.next()?.parse().ok()?;
        let first = fields.next()?;
        if !is_known || count != parts.len() {
            return None;
        }
        if state == COMMITTED {
            let transactions = Vec::new();
            return Some(Self { query_id, transactions });
        }
        let text = std::iter::once(first).chain(parts.iter().skip(1).map(String::as_str));
        let packed = STANDARD.decode(text.collect::<String>()).ok()?;
        let mut lines = Vec::new();
        decompress(Codec::Gzip, &packed, MAX_TEXT_BYTES, &mut lines).ok()?;
        let line_of = |line: &str| {
            let mut fields = line.rsplitn(3, ' ');
            let epoch = fields.next()?.parse().ok()?;
            let producer_id = fields.next()?.parse().ok()?;
            let transactional_id = format!("{prefix}{}", fields.next()?);
            Some(Prepared {
                transactional_id,
                producer_id,
                epoch,
            })
        };
        let transactions = std::str::from_utf8(&lines)
            .ok()?
            .lines()
            .map(line_of)
            .collect::<Option<_>>()?;
        Some(Self { query_id, transactions })
    }
}

#[cfg(test)]
mod tests {
    //! A decision is read back whole, or not at all.

    use super::{Decision, Prepared};

    fn decision(count: usize) -> Decision {
        let transactions = (0..count).map(|number| Prepared {
            transactional_id: format!("a b-{}-7-{number}-0", number * 7919),
            producer_id: 4000 + (number * 31 % 997) as i64,
            epoch: (number % 5) as i16,
        });
        Decision {
            query_id: "q".to_owned(),
            transactions: transactions.collect(),
        }
    }

    #[test]
    fn every_number_of_transactions_is_read_back() {
        for count in [0, 1, 2, 500, 20_000] {
            let whole = decision(count);
            let parts = whole.encode("a b").unwrap();
            assert_eq!(Decision::count(&parts[0]), Some(parts.len()));
            assert!(parts.iter().all(|part| part.len() < 4096), "{count}");
            assert_eq!(Decision::decode("a b", &parts).unwrap(), whole);
        }
    }

    #[test]
    fn a_missing_or_strange_part_is_no_decision() {
        let parts = decision(20_000).encode("a b").unwrap();
        assert!(parts.len() > 2);
        assert!(Decision::decode("a b", &parts[..parts.len() - 1]).is_none());
        let mut swapped = parts.clone();
        swapped.swap(1, 2);
        assert!(Decision::decode("a b", &swapped).is_none());
        for strange in ["", "1 q", "2 q committed 1 ", "1 q committing 1 x"] {
            assert!(Decision::decode("", &[strange.to_owned()]).is_none(), "{strange}");
        }
    }
}
