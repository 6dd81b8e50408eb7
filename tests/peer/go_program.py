"""Our small Go program (`go/`, over franz-go), built once into a cache folder and run once per call: JSON in, JSON out.

`go/go.mod` and `go/go.sum` pin what it is built from, tests/requirements.txt the compiler; only a first build asks a
network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from peer.cache import digest, filled

GO_SOURCES = Path(__file__).parent / "go"
LIMIT_S = 60
# no compiler but the pinned one, no C compiler, no workspace of the user's
ENVIRONMENT = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false"}


class GoError(AssertionError):
    """What the Go client answered in place of a result."""


def go_program() -> Path:
    """The executable."""
    compiler = Path(sys.executable).with_name("go")
    sources = sorted(path for path in GO_SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    command = [str(compiler), "build", "-C", str(GO_SOURCES), "-trimpath", "-o", "{}/peer", "."]
    return filled(f"go-{digest(*sources)}", command, ENVIRONMENT) / "peer"


def call(name: str, bootstrap: str, /, **arguments: Any) -> Any:
    """One call of `go/main.go`, in a process of its own."""
    request = json.dumps({"call": name, "bootstrap": bootstrap, **arguments})
    done = subprocess.run([go_program()], input=request, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise GoError(done.stderr)
    return json.loads(done.stdout)


if __name__ == "__main__":
    go_program()  # fills the cache
