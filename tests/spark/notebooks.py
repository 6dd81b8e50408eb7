"""Runs the notebooks of ``docs/notebooks`` against a real broker's files, cell by cell, and keeps what they show.

python -m spark.notebooks        writes the outputs into the notebooks; the test only runs them

A notebook finds the log directory in LOG_DIR. Cells run in one namespace, in order; the value of a cell's last line is
shown as HTML where it has ``_repr_html_``, else as text. Nothing of Jupyter is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from demo.flights import as_record, rows

from kafkastore.spark import jvm
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from spark.session import JAR, start_session

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
FLIGHTS = 27_000
PARTITIONS = 4
FLUSH_LIMIT_S = 60


@contextlib.contextmanager
def flights(folder: Path) -> Iterator[Path]:
    """A broker's log directory with the topic ``flights``: departures of January 2013, by carrier."""
    with KafkastoreBroker(folder).running() as broker:
        create_topic(broker.bootstrap, "flights", PARTITIONS, {"retention.ms": "-1", "segment.bytes": "4194304"})
        settings = {"bootstrap.servers": broker.bootstrap, "compression.type": "zstd", "linger.ms": 20}
        producer = Producer(settings)
        for number, row in zip(range(FLIGHTS), rows(), strict=False):
            key, value = as_record(number, row)
            hour = datetime.fromisoformat(row["time_hour"]).astimezone(UTC)
            producer.produce("flights", value, key, timestamp=int(hour.timestamp() * 1000))
            if number % 5000 == 0:
                producer.poll(0)
        assert producer.flush(FLUSH_LIMIT_S) == 0
        assert broker.stop() == 0
        yield broker.log_dir


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path, log_dir: Path, work: Path) -> dict[str, Any]:
    """The notebook with the outputs of a new run in the folder ``work``. The session of this process is used."""
    notebook: dict[str, Any] = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    jvm.jar = lambda: str(JAR)
    os.environ["LOG_DIR"] = str(log_dir)
    count = 0
    with contextlib.chdir(work):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = _run_cell("".join(cell["source"]), names, f"{path.name}, cell {count}", count)
    return notebook


def _run_cell(source: str, names: dict[str, Any], place: str, count: int) -> list[dict[str, Any]]:
    """Runs a cell; returns its outputs as notebooks keep them."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said, shown = io.StringIO(), None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), place, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": said.getvalue().splitlines(keepends=True)})
    if shown is not None:
        data = {"text/plain": repr(shown).splitlines(keepends=True)}
        if html := getattr(shown, "_repr_html_", lambda: None)():
            data["text/html"] = html.splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}})
    return outputs


def main() -> int:
    session = start_session("local[2]")
    try:
        with tempfile.TemporaryDirectory() as folder, flights(Path(folder) / "broker") as log_dir:
            for path in notebooks():
                work = Path(folder) / path.stem
                work.mkdir()
                done = run(path, log_dir, work)
                text = json.dumps(done, indent=1, ensure_ascii=False).replace(str(log_dir), "/var/lib/kafka")
                path.write_text(text + "\n")
                sys.stdout.write(f"{path.name}: {len(done['cells'])} cells\n")
    finally:
        session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
