use super::*;

/// The user and the client id of an entity, and the name and client id that share its counter.
type Level = (Option<&'static str>, Option<&'static str>, (&'static str, &'static str));

/// The entities in the order in which they decide, for the user `alice` with the client id `app`.
const LEVELS: [Level; 8] = [
    (Some("alice"), Some("app"), ("alice", "app")),
    (Some("alice"), Some(""), ("alice", "app")),
    (Some("alice"), None, ("alice", "")),
    (Some(""), Some("app"), ("alice", "app")),
    (Some(""), Some(""), ("alice", "app")),
    (Some(""), None, ("alice", "")),
    (None, Some("app"), ("", "app")),
    (None, Some(""), ("", "app")),
];

fn row(user: Option<&str>, client_id: Option<&str>, limit: f64) -> QuotaRow {
    QuotaRow {
        user: user.map(ToOwned::to_owned),
        client_id: client_id.map(ToOwned::to_owned),
        kind: QuotaKind::Fetch,
        limit: Some(limit),
    }
}

fn limits_of(rows: impl IntoIterator<Item = QuotaRow>) -> Limits {
    let mut limits = Limits::default();
    limits.put(rows.into_iter().collect());
    limits
}

// KIP-55
#[test]
fn first_level_that_has_a_limit_decides_for_every_set_of_limits() {
    for set in 0..1u32 << LEVELS.len() {
        let is_set = |level: usize| set & 1 << level != 0;
        let rows = (0..LEVELS.len()).filter(|&level| is_set(level));
        let rows = rows.map(|level| row(LEVELS[level].0, LEVELS[level].1, level as f64 + 1.0));
        let limits = limits_of(rows);
        let expected = (0..LEVELS.len()).find(|&level| is_set(level)).map(|level| {
            let (user, client_id) = LEVELS[level].2;
            (level as f64 + 1.0, Sharers { user, client_id })
        });
        assert_eq!(limits.find(QuotaKind::Fetch, "alice", "app"), expected, "set {set:08b}");
        assert_eq!(
            limits.find(QuotaKind::Produce, "alice", "app"),
            None,
            "other kinds have no limit"
        );
    }
}

#[test]
fn limits_of_other_users_and_client_ids_do_not_count() {
    let others = [
        row(Some("bob"), Some("app"), 1.0),
        row(Some("bob"), None, 2.0),
        row(Some("alice"), Some("other"), 3.0),
        row(Some(""), Some("other"), 4.0),
        row(None, Some("other"), 5.0),
    ];
    assert_eq!(limits_of(others).find(QuotaKind::Fetch, "alice", "app"), None);
}

#[test]
fn client_without_client_id_has_only_limits_by_user() {
    let rows = LEVELS.iter().map(|level| row(level.0, level.1, 1.0));
    let limits = limits_of(rows.filter(|row| row.client_id.is_some()));
    assert_eq!(limits.find(QuotaKind::Fetch, "alice", ""), None);
    let limits = limits_of([row(Some(""), None, 7.0)]);
    let sharers = Sharers {
        user: "alice",
        client_id: "",
    };
    assert_eq!(limits.find(QuotaKind::Fetch, "alice", ""), Some((7.0, sharers)));
}

#[test]
fn limits_that_are_taken_away_leave_those_of_the_next_level() {
    let mut limits = limits_of((1..=LEVELS.len()).map(|nth| row(LEVELS[nth - 1].0, LEVELS[nth - 1].1, nth as f64)));
    for (nth, level) in LEVELS.iter().enumerate() {
        let found = limits.find(QuotaKind::Fetch, "alice", "app").map(|it| it.0);
        assert_eq!(found, Some(nth as f64 + 1.0));
        let limit = None;
        limits.put(vec![QuotaRow {
            limit,
            ..row(level.0, level.1, 0.0)
        }]);
    }
    assert_eq!(limits.find(QuotaKind::Fetch, "alice", "app"), None);
    let table = &limits.tables[QuotaKind::Fetch as usize];
    assert!(
        table.by_user.is_empty() && table.by_client_id.is_empty(),
        "nothing is kept of them"
    );
}
