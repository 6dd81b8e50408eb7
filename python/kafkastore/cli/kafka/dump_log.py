"""``kafka-dump-log``: what files of a log directory hold. ``dump_log_records.py`` prints segments,
``dump_log_indexes.py`` the files beside them; both also say what is wrong with them, on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import Flags, int32, is_given, split_list
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

PURPOSE: Final = (
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment."
)
DECODERS: Final = ("offsets", "transaction-log", "share-group-state")
NO_DECODERS: Final = {
    "cluster-metadata-decoder": "the metadata log of Apache Kafka's controllers",
    "remote-log-metadata-decoder": "the metadata of tiered storage",
}
STRINGS: Final = "org.apache.kafka.tools.api.StringDecoder"
MOST_BYTES: Final = (1 << 31) - 1
SEGMENTS: Final = (".log", ".checkpoint")


def _flags() -> Flags:
    flags = Flags("kafka-dump-log", PURPOSE)
    flags.add("--files", "FILE,FILE,...", help="REQUIRED: .log, .index, .timeindex, .txnindex, .snapshot.")
    flags.add("--print-data-log", is_switch=True, help="With keys and values.")
    flags.add("--deep-iteration", is_switch=True, help="With the records of each batch.")
    flags.add("--skip-record-metadata", is_switch=True, help="Keys and values alone.")
    flags.add("--verify-index-only", is_switch=True, help="Compare indexes with their segments; print no entries.")
    flags.add("--index-sanity-check", is_switch=True, help="Only what a broker looks at when it starts.")
    flags.add("--max-message-size", "BYTES", type=int32, default=5 << 20, help="Of the largest batch.")
    flags.add("--max-bytes", "BYTES", type=int32, default=MOST_BYTES, help="So many of a segment.")
    flags.add("--offsets-decoder", is_switch=True, help="Records of __consumer_offsets.")
    flags.add("--transaction-log-decoder", is_switch=True, help="Records of __transaction_state.")
    flags.add("--share-group-state-decoder", is_switch=True, help="Records of __share_group_state.")
    flags.add("--cluster-metadata-decoder", is_switch=True, help="Not here.")
    flags.add("--remote-log-metadata-decoder", is_switch=True, help="Not here.")
    flags.add("--key-decoder-class", "CLASS", is_optional=True, help="String, Long, Integer or Double of Kafka's.")
    flags.add("--value-decoder-class", "CLASS", is_optional=True, help="The same for values.")
    return flags


FLAGS: Final = _flags()


def main(arguments: Sequence[str]) -> int:
    given = FLAGS.asked(arguments)
    FLAGS.require(given, "files")
    for name, what in NO_DECODERS.items():
        if is_given(given, name):
            raise KafkastoreError(f"--{name}: this version does not read {what}; use Apache Kafka's own kafka-dump-log")
    from kafkastore._core import ScanError
    from kafkastore.cli.kafka.dump_log_indexes import IndexDump, dump_snapshot, dump_transaction_index
    from kafkastore.cli.kafka.dump_log_records import SegmentDump

    segments, indexes = SegmentDump(given), IndexDump(given)
    others = {
        ".index": indexes.dump_index,
        ".timeindex": indexes.dump_time_index,
        ".txnindex": dump_transaction_index,
        ".snapshot": dump_snapshot,
    }
    try:
        for name in split_list(given.files):
            path = Path(name)
            sys.stdout.write(f"Dumping {name}\n")
            if path.suffix in SEGMENTS:
                segments.dump(path)
            elif path.suffix in others:
                others[path.suffix](path)
            else:
                sys.stderr.write(f"Ignoring unknown file {name}\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:  # of stdout
            raise
        raise KafkastoreError(f"{error.filename}: {error.strerror}") from None
    except ScanError as error:
        raise KafkastoreError(str(error)) from None
    finally:
        sys.stdout.flush()
        indexes.tell_faults()
        segments.tell_faults()
    return 0


def base_offset(path: Path) -> int:
    """The offset that a file is named after. Raises KafkastoreError."""
    name = path.name.partition(".")[0]
    if not name.isdecimal():
        raise KafkastoreError(f"{path} is not named after an offset, as 00000000000000000000{path.suffix} is")
    return int(name)
