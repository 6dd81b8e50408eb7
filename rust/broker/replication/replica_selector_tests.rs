use super::*;
use crate::BrokerRow;
use crate::published::image::PublishedImage;
use crate::testing::broker_row;

/// Brokers 1 to 5 in racks a, b, b, none and an empty one; the third is not on the listener.
fn image() -> PublishedImage {
    let in_rack = |node_id, rack: Option<&str>| BrokerRow {
        rack: rack.map(str::to_owned),
        ..broker_row(node_id)
    };
    let mut hidden = in_rack(3, Some("b"));
    hidden.endpoints[0].0 = "INTERNAL".to_owned();
    let image = PublishedImage::default();
    image.publish_cluster(
        vec![
            in_rack(1, Some("a")),
            in_rack(2, Some("b")),
            hidden,
            in_rack(4, None),
            in_rack(5, Some("")),
        ],
        1,
    );
    image
}

// KIP-392
#[test]
fn brokers_of_the_consumers_rack_are_nearer_unless_this_one_is_there_too() {
    let published = image();
    let image = published.load();
    let near = |node_id, rack| nearer_brokers(&image, node_id, rack, "PLAINTEXT");
    assert_eq!(near(1, "b"), [2], "the third cannot be reached there");
    assert_eq!(near(4, "b"), [2], "a broker without a rack");
    for (node_id, rack) in [(1, "a"), (2, "b"), (1, "elsewhere"), (1, ""), (4, ""), (1, "B")] {
        assert_eq!(near(node_id, rack), [0; 0], "{node_id} {rack:?}");
    }
    assert_eq!(nearer_brokers(&image, 1, "b", "INTERNAL"), [3]);
}
