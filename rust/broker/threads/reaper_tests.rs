use std::sync::mpsc::channel;

use super::*;

#[test]
fn jobs_run_in_the_order_of_their_times() {
    let reaper = Reaper::default();
    let (done, order) = channel();
    for (delay_ms, name) in [(20, "late"), (0, "soon"), (10, "middle")] {
        let done = done.clone();
        reaper.after(Duration::from_millis(delay_ms), move || done.send(name).unwrap());
    }
    std::thread::scope(|scope| {
        scope.spawn(|| reaper.run());
        let got: Vec<_> = (0..3).map(|_| order.recv().unwrap()).collect();
        assert_eq!(got, ["soon", "middle", "late"]);
        reaper.stop();
    });
}

#[test]
fn stopping_leaves_work_that_is_not_due() {
    let reaper = Reaper::default();
    reaper.after(Duration::from_hours(1), || panic!("this was not due"));
    reaper.stop();
    reaper.run();
    assert_eq!(reaper.len(), 1);
}
