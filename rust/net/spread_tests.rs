use super::*;

#[test]
fn new_connections_leave_the_last_loop_free_when_there_is_one_a_core() {
    let spread = Spread::new(3, 3);
    let loops: Vec<usize> = (0..4).map(|_| spread.for_new()).collect();
    assert_eq!(loops, [0, 1, 0, 1]);
}

#[test]
fn heavy_connections_go_to_every_loop_and_to_the_last_one_first() {
    let spread = Spread::new(2, 2);
    let loops: Vec<Option<usize>> = (0..3).map(|_| spread.for_heavy()).collect();
    assert_eq!(loops, [Some(1), Some(0), Some(1)]);
}

#[test]
fn nothing_is_handed_over_when_cores_are_left() {
    let spread = Spread::new(3, 8);
    let loops: Vec<usize> = (0..4).map(|_| spread.for_new()).collect();
    assert_eq!((loops, spread.for_heavy()), (vec![0, 1, 2, 0], None));
}

#[test]
fn a_single_loop_serves_everything() {
    for cores in 1..3 {
        let spread = Spread::new(1, cores);
        assert_eq!((spread.for_new(), spread.for_new(), spread.for_heavy()), (0, 0, None));
    }
}
