"""Our small programs over sarama (`sarama/`, Go) and kafkajs (`kafkajs/`, Node.js), made once into the cache folder and
run once per call: JSON in, JSON out.

`sarama/go.sum` and `kafkajs/package-lock.json` pin what they are made from; only a first build asks a network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peer.cache import digest, filled
from peer.go_program import ENVIRONMENT, LIMIT_S

SARAMA_SOURCES, KAFKAJS_SOURCES = Path(__file__).parent / "sarama", Path(__file__).parent / "kafkajs"
NPM_CI = "npm ci --prefix {} --omit=dev --ignore-scripts --no-audit --no-fund"


class ProgramError(AssertionError):
    """What the program answered in place of a result."""


def sarama_program() -> list[str]:
    """The command."""
    compiler = Path(sys.executable).with_name("go")
    sources = sorted(path for path in SARAMA_SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    command = [str(compiler), "build", "-C", str(SARAMA_SOURCES), "-trimpath", "-o", "{}/peer", "."]
    return [str(filled(f"sarama-{digest(*sources)}", command, ENVIRONMENT) / "peer")]


def kafkajs_program() -> list[str]:
    """The command."""
    sources = [KAFKAJS_SOURCES / name for name in ("main.js", "package.json", "package-lock.json")]
    command = ["sh", "-c", f'cp "$@" {{}} && {NPM_CI}', "sh", *map(str, sources)]
    return ["node", str(filled(f"kafkajs-{digest(*sources)}", command) / "main.js")]


def call(program: Sequence[str], name: str, bootstrap: str, /, **arguments: Any) -> Any:
    """One call, in a process of its own."""
    request = json.dumps({"call": name, "bootstrap": bootstrap, **arguments})
    done = subprocess.run(program, input=request, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise ProgramError(done.stderr)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sarama_program()  # both fill the cache
    kafkajs_program()
