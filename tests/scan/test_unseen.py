"""Scans by the files alone say what the checkpoints keep back (docs/scan.md)."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import kafkastore
from kafkastore.cli import main as cli

RECORDS = 250  # of topic samples
CHECKPOINT = "replication-offset-checkpoint"


def forget_high_watermarks(log_dir: Path) -> None:
    """As a broker's first seconds leave it."""
    (log_dir / CHECKPOINT).write_text("0\n0\n")


def test_scan_that_sees_nothing_because_of_the_checkpoint_warns_and_names_the_way_out(log_dir: Path) -> None:
    forget_high_watermarks(log_dir)
    with pytest.warns(RuntimeWarning, match=r"^250 offsets of samples-0 are in the files .* give bootstrap_servers"):
        scan = kafkastore.scan(log_dir, "samples")
    assert scan.count() == 0
    assert scan.unseen() == {0: (0, RECORDS)}


def test_topics_say_what_the_checkpoint_keeps_back(log_dir: Path) -> None:
    forget_high_watermarks(log_dir)
    (topic,) = (topic for topic in kafkastore.topics(log_dir) if topic.name == "samples")
    assert repr(topic).startswith(f"<Topic samples: 1 partition, 0 offsets and {RECORDS} behind the last checkpoint, ")
    assert (topic.offsets, topic.unseen_offsets) == (0, RECORDS)
    (log_dir / CHECKPOINT).write_text(f"0\n1\nsamples 0 {RECORDS}\n")
    (topic,) = (topic for topic in kafkastore.topics(log_dir) if topic.name == "samples")
    assert repr(topic).startswith(f"<Topic samples: 1 partition, {RECORDS} offsets, ")
    assert (topic.offsets, topic.unseen_offsets) == (RECORDS, 0)


def test_scan_of_a_topic_without_records_does_not_warn(log_dir: Path) -> None:
    forget_high_watermarks(log_dir)
    shutil.copytree(log_dir / "samples-0", log_dir / "empty-0")
    for file in (log_dir / "empty-0").glob("0*"):
        file.unlink()
    (log_dir / "empty-0" / f"{0:020}.log").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kafkastore.scan(log_dir, "empty").count() == 0


def test_scan_that_sees_something_tells_the_rest_when_asked(log_dir: Path) -> None:
    (log_dir / CHECKPOINT).write_text("0\n1\nsamples 0 100\n")
    scan = kafkastore.scan(log_dir, "samples")
    ((partition, (limit, end)),) = scan.unseen().items()
    assert (partition, end) == (0, RECORDS)
    assert scan.count() == limit <= 100


def test_dump_says_what_the_checkpoint_keeps_back_and_how_to_see_it(
    log_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    forget_high_watermarks(log_dir)
    assert cli.main(["dump", str(log_dir), "samples"]) == 0
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"kafkastore dump: {RECORDS} offsets of samples-0 are in the files and are left out")
    assert printed.err.endswith("name the .log file to see all of it\n")
    assert printed.err.count("\n") == 1


def test_dump_of_everything_says_nothing(log_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dump", str(log_dir), "samples"]) == 0
    printed = capfd.readouterr()
    assert printed.out.count("\n") == RECORDS
    assert printed.err == ""
