"""On a standalone cluster of two workers, whose executors are processes of their own that share the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spark.session import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark.conftest import Record, Written

TESTS = Path(__file__).parents[1]
JOB_LIMIT_S = 240


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.close()


def digest(records: list[Record]) -> list[int]:
    """What `cluster_job.digest` must say."""
    return [
        len(records),
        sum(one.offset for one in records),
        sum(one.partition for one in records),
        sum(one.timestamp_ms % 1_000_003 for one in records),
        sum(zlib.crc32(b"null" if one.key is None else one.key) for one in records),
        sum(zlib.crc32(b"null" if one.value is None else one.value) for one in records),
        sum(zlib.crc32(headers_json(one)) for one in records if one.headers is not None),
    ]


def headers_json(record: Record) -> bytes:
    """As Spark's `to_json`: null fields left out, binary as base64."""
    import base64

    fields = [
        {"key": key} | ({} if value is None else {"value": base64.b64encode(value).decode()})
        for key, value in record.headers or ()
    ]
    return json.dumps(fields, separators=(",", ":")).encode()


@pytest.mark.timeout(300)
def test_every_record_is_read_by_the_executors(cluster: Cluster, written: Written, tmp_path: Path) -> None:
    request = {
        "master": cluster.master,
        "path": written.path,
        "topic": "codecs",
        "link_dir": str(written.log_dirs[0].parent / "links"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "spark.cluster_job", json.dumps(request)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=JOB_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    expected = digest(written.records["codecs"])
    assert answers["source"] == expected
    assert answers["links"] == expected
    assert answers["mapped"] == expected
    assert answers["pushed"] == sum(one.partition == 1 and one.offset < 25 for one in written.records["codecs"])
    assert answers["executors"] == 2
    assert list(Path(request["link_dir"]).iterdir()) == []
