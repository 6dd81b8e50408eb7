"""How long each daily command takes: ``--help``, and one simple request to a broker of kafkastore that is there.

    PYTHONPATH=tests:benches python -m kafka_tools.verbs [--rounds 10]

Prints a row a command: medians of the whole process, from its start to its end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from kafka_tools.__main__ import AUTHORIZER, TOPIC, run
from kafkastore.cli.commands import MODULES
from peer.kafkastore_broker import KafkastoreBroker

REQUESTS = {
    "acls": "acls list",
    "cluster": "cluster status",
    "completion": "completion bash",
    "configs": f"configs get topic {TOPIC} retention.ms",
    "consume": f"consume {TOPIC} -n 3",
    "features": "features list",
    "groups": "groups list",
    "log-dirs": "log-dirs list",
    "produce": f"produce {TOPIC}",
    "profile": "profile list",
    "quotas": "quotas list",
    "reassign": "reassign status",
    "records": f"records offsets {TOPIC}",
    "topics": "topics list",
    "transactions": "transactions list",
    "users": "users list",
}
"""The others have files to read, which takes as long as these are, or run on."""


def milliseconds(words: list[str], rounds: int) -> float:
    stdin = "a\nb\nc\n" if words[0] == "produce" else ""
    command = [os.environ.get("KAFKASTORE", "kafkastore"), *words]
    return statistics.median(run(command, stdin).end for _ in range(rounds)) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        broker = KafkastoreBroker(Path(folder), AUTHORIZER)
        broker.start()
        try:
            os.environ["KAFKASTORE_BOOTSTRAP_SERVERS"] = broker.bootstrap
            milliseconds(["topics", "create", TOPIC], 1)
            milliseconds(["produce", TOPIC], 1)
            table(rounds)
        finally:
            broker.stop()


def table(rounds: int) -> None:
    print("| command | `--help` | a request | |")
    print("|---|---|---|---|")
    for name in MODULES:
        asked = REQUESTS.get(name)
        took = "" if asked is None else f"{milliseconds(asked.split(), rounds):.0f} ms"
        print(f"| `{name}` | {milliseconds([name, '--help'], rounds):.0f} ms | {took} | {asked or ''} |", flush=True)


if __name__ == "__main__":
    main()
