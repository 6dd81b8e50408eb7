"""Commands, targets and keys that the pages name exist."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tidy.blocks import SHELL, blocks, inline_code
from tidy.command_lines import complaint, complaint_of_make, complaint_of_part, words_of
from tidy.sources import PYTHON, Source, other_sources, pages, product_sources, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEFT_OUT = re.compile(r"…|\[|\.\.\.")
"""In a line that says of a command which words it takes."""


def shell_lines(page: Source) -> Iterator[tuple[int, str]]:
    """(line, command) of the blocks for a shell, without a prompt."""
    for block in blocks(page):
        if block.language in SHELL:
            for line, command in block.commands():
                yield line, command.removeprefix("$ ")


def unknown_make_targets(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for line, code in (*shell_lines(one), *inline_code(one)):
            if re.match(r"make [a-zA-Z]", code) and (said := complaint_of_make(words_of(code)[1:])):
                yield f"{one}:{line}: {code}: {said}"


def unknown_commands(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for line, code in shell_lines(one):
            if code.startswith("kafkastore "):
                is_part = LEFT_OUT.search(code.partition(" # ")[0])
                words = words_of(re.sub(LEFT_OUT, "", code).replace("]", "") if is_part else code)[1:]
                if said := (complaint_of_part if is_part else complaint)(words):
                    yield f"{one}:{line}: {code}: {said}"
        for line, code in inline_code(one):
            if code.startswith("kafkastore ") and (said := complaint_of_part(words_of(code)[1:])):
                yield f"{one}:{line}: {code}: {said}"


# ---- keys
KEY = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9_-]+){1,9}")
OF_FILES = (".py", ".rs", ".md", ".tsv", ".sh", ".log", ".json", ".jar", ".so", ".html", ".parquet", ".properties")
VARIABLES = ("cluster.", "df.", "engine.", "scan.")
"""Python's names in the pages: a module of the tests, and variables of examples."""
OF_OTHERS = {
    "client.rack", "fetch.max.wait.ms", "fetch.min.bytes", "group.protocol", "isolation.level",
    "metadata.max.age.ms",  # of Kafka's clients
    "eligible.leader.replicas.version", "kraft.version", "metadata.version",  # features of a cluster
    "spark.pyspark.python",  # of Spark
    "basic.auth.user.info",  # of a schema registry's clients
    "jute.maxbuffer",  # of ZooKeeper's Java
    "vm.max_map_count",  # of Linux
    "a.b",  # a topic
}  # fmt: skip
OF_LISTENER = re.compile(r"listener\.name\.[a-z0-9_-]+\.(?:(?:plain|oauthbearer|scram-sha-\d+)\.)?")


@cache
def keys() -> frozenset[str]:
    """Kafka's, of the tables of keys."""
    tables = (source(path) for path in sorted((PYTHON / "config").glob("*-configs.tsv")))
    return frozenset(line.split("\t")[0] for table in tables for line in table.lines)


@cache
def texts_of_code() -> frozenset[str]:
    """Keys that a program of ours names in quotes: a client's, Spark's, or a logger."""
    others = [one for one in other_sources() if not one.name.startswith("tests/tidy/")]
    return frozenset(
        text
        for one in (*product_sources(), *others)
        for text in re.findall(r'"([a-z0-9._-]+\.[a-z0-9._-]+)[="]', one.text)
    )


def unknown_keys(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        named = [(line, code.partition("=")[0]) for line, code in inline_code(one)]
        for block in blocks(one):
            for line, text in enumerate(block.lines, start=block.line):
                named += [(line, found[1])] if (found := re.match(rf"({KEY.pattern})=", text)) else []
        for line, name in named:
            if KEY.fullmatch(name) and not name.endswith(OF_FILES) and not is_known(name):
                yield f"{one}:{line}: {name} is no key of Kafka's tables, and no program of ours names it"


def is_known(name: str) -> bool:
    """Kafka's key, also with a listener before it, or the end of one ("and `after.max.ms`"); a key that our programs
    use; a name of Python's."""
    of_spark = name.removeprefix("kafka.")  # a key of Kafka's clients, as an option of Spark
    if name.startswith(VARIABLES) or name in OF_OTHERS or {name, of_spark} & texts_of_code():
        return True
    plain = OF_LISTENER.sub("", name)
    return plain in keys() or any(key.endswith(f".{name}") for key in keys()) or is_name_in_python(name)


def is_name_in_python(name: str) -> bool:
    """A module below ``kafkastore``, or a name that ``kafkastore`` or ``kafkastore.spark`` hands out."""
    package, *rest = name.split(".")
    if package != "kafkastore":
        return False
    path = PYTHON.joinpath(*rest)
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    init = PYTHON.joinpath(*rest[:-1], "__init__.py")
    return init.exists() and f'"{rest[-1]}"' in source(init).text


def test_targets_of_make_exist() -> None:
    report(unknown_make_targets(pages()))


def test_commands_are_understood() -> None:
    report(unknown_commands(pages()))


def test_keys_exist() -> None:
    report(unknown_keys(pages()))
