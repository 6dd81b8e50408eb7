use super::*;

fn read(diverging_epoch: Option<(LeaderEpoch, Offset)>) -> RowUpdate {
    let read = ReadResult {
        high_watermark: Offset(7),
        diverging_epoch,
        ..ReadResult::default()
    };
    let outcome = Outcome {
        error: ErrorCode::NONE,
        read,
        converted: None,
        has_news: false,
    };
    outcome.news()
}

/// It cuts its log and takes over no high watermark, so it has not been told of this one.
#[test]
fn a_fetch_with_a_diverging_epoch_leaves_the_row_to_be_sent_again() {
    assert!(read(Some((LeaderEpoch(1), Offset(5)))).is_void);
    assert!(read(Some((LeaderEpoch(1), Offset(5)))).has_more);
    assert!(!read(None).is_void);
}
