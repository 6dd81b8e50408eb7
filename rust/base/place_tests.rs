use super::*;

#[test]
fn position_is_as_large_as_its_integer_and_shown_as_it() {
    assert_eq!(size_of::<Position>(), size_of::<u64>());
    assert_eq!(format!("{} {:>5}", Position(42), Position(7)), "42     7");
    assert_eq!(serde_json::to_string(&Position(42)).unwrap(), "42");
}

#[test]
fn bytes_between_positions_are_0_where_the_end_lies_before() {
    assert_eq!(Position(61).bytes_to(Position(100)), 39);
    assert_eq!(Position(100).bytes_to(Position(61)), 0);
    assert_eq!(Position(100) - Position(61), 39);
}

#[test]
fn position_moves_on_by_bytes_up_to_the_greatest() {
    let mut position = Position::START + 61;
    position += 39;
    assert_eq!(position, Position(100));
    assert_eq!(Position(u64::MAX - 1).saturating_add(9), Position(u64::MAX));
}

#[test]
fn offset_is_as_large_as_its_integer_and_shown_as_it() {
    assert_eq!(size_of::<Offset>(), size_of::<i64>());
    assert_eq!(
        format!("{:020} {}", Offset(42), Offset::NONE),
        "00000000000000000042 -1"
    );
    assert_eq!(serde_json::to_string(&Offset(42)).unwrap(), "42");
}

#[test]
fn negative_offset_is_that_of_no_record() {
    assert!(Offset(0).is_some() && !Offset(0).is_none());
    assert!(Offset::NONE.is_none() && Offset(i64::MIN).is_none() && Offset::MAX.is_some());
}

#[test]
fn offsets_between_are_counted_and_moving_stops_at_the_ends() {
    assert_eq!((Offset(7) + 3, Offset(7) - 3), (Offset(10), Offset(4)));
    assert_eq!((Offset(10) - Offset(7), Offset(7) - Offset(10)), (3, -3));
    assert_eq!(Offset(i64::MAX - 1).saturating_add(9), Offset::MAX);
    assert_eq!(Offset(i64::MIN + 1).saturating_sub(9), Offset(i64::MIN));
}

#[test]
fn leader_epoch_is_as_large_as_its_integer_and_shown_as_it() {
    assert_eq!(size_of::<LeaderEpoch>(), size_of::<i32>());
    assert_eq!(format!("{} {}", LeaderEpoch(4), LeaderEpoch::NONE), "4 -1");
}

#[test]
fn negative_leader_epoch_is_that_of_no_leader() {
    assert!(LeaderEpoch(0).is_some() && !LeaderEpoch(0).is_none());
    assert!(LeaderEpoch::NONE.is_none() && LeaderEpoch(i32::MIN).is_none());
}
