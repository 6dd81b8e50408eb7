"""Each rule finds a violation that is planted, says where it is, and lets what is right pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tidy import (
    test_architecture,
    test_blocks,
    test_columns,
    test_commands,
    test_dependencies,
    test_docs,
    test_files,
    test_handlers,
    test_imports,
    test_loggers,
    test_maps,
    test_references,
)
from tidy.sources import Source, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PACKAGE = "python/kafkastore"
HANDLER = f"{PACKAGE}/handlers/list_groups.py"
REQUEST = "from kafkastore.protocol.list_groups import ListGroupsRequest\n"


class Planted(NamedTuple):
    """A file with one violation, and the same file without."""

    rule: Callable[[Iterable[Source]], Iterator[str]]
    name: str
    text: str
    said: str
    right: str


def above(sources: Iterable[Source]) -> Iterator[str]:
    return test_imports.imports_that_point_up(test_imports.edges_of(sources))


PLANTED = [
    Planted(test_files.long_files, "rust/net/a.rs", "//\n" * 601, ":601: a file has at most 600", "//\n" * 600),
    Planted(test_files.names_that_say_nothing, "rust/net/utils.rs", "", ":1: utils is no name", ""),
    Planted(test_files.names_that_say_nothing, f"{PACKAGE}/common/a.py", "", ":1: common is no name", ""),
    Planted(
        test_files.modules_without_a_docstring, f"{PACKAGE}/a.py", "A = 1", ":1: a module opens", '"""A."""\nA = 1'
    ),
    Planted(
        test_files.long_functions,
        f"{PACKAGE}/a.py",
        "\nasync def f():\n" + "    await g()\n" * 70,
        ":2: f has 71 lines",
        "\nasync def f():\n" + "    await g()\n" * 69,
    ),
    Planted(
        test_files.logic_in_init_files,
        f"{PACKAGE}/a/__init__.py",
        "import a\nb = a.read()",
        ":2: __init__.py holds",
        "import a\n__all__ = []",
    ),
    Planted(test_files.ends_of_the_process, f"{PACKAGE}/a.py", "import os\nos._exit(1)", ":1: os._exit", "exit(1)"),
    Planted(
        test_files.patches,
        "tests/simulator/a.py",
        "from unittest import mock",
        ":1: unittest.mock: the sim",
        "import os",
    ),
    Planted(test_columns.long_lines, "rust/net/a.rs", "\n" + "/" * 121, ":2: 121 columns", "\n" + "/" * 120),
    Planted(test_columns.long_prose, "docs/a.md", "a" * 121, ":1: 121 columns", "```\n" + "a" * 121 + "\n```\n"),
    Planted(
        test_dependencies.unstable_crates,
        "Cargo.lock",
        '\nname = "a"\nversion = "0.2.0-pre.1"\n',
        ":2: a 0.2.0-pre.1 is a pre-release",
        'name = "a"\nversion = "0.2.0+zstd-1.5"\n',
    ),
    Planted(
        test_dependencies.unstable_crates,
        "Cargo.lock",
        'name = "a"\nversion = "0.2.0"\nsource = "git+https://a"\n',
        ":1: a comes from git+https://a",
        f'name = "a"\nversion = "0.2.0"\nsource = "{test_dependencies.CRATES_IO}"\n',
    ),
    Planted(above, f"{PACKAGE}/log/a.py", "\nimport kafkastore.server.broker", ":2: imports kafkastore.server", "\n"),
    Planted(
        test_loggers.loggers_of_other_folders,
        f"{PACKAGE}/log/a.py",
        '\nlogging.getLogger("kafkastore.net")',
        ":2: the logger kafkastore.net is not named after",
        'logging.getLogger("kafkastore.log")',
    ),
    Planted(
        test_architecture.rows_outside_of_tables, "docs/a.md", "\n| a |\n| b |\n", ":2: a row outside", "| a |\n|---|\n"
    ),
    Planted(test_docs.broken_links, "docs/a.md", "\n[a](b.md)", ":2: links to b.md", "[a](scan.md)"),
    Planted(test_docs.broken_links, "docs/a.md", "[a](scan.md#b)", ":1: links to scan.md#b", "[a](scan.md#queries)"),
    Planted(test_docs.missing_files, "docs/a.md", "`rust/io/{lib,b}.rs`", ":1: names rust/io/b.rs", "`rust/io/lib.rs`"),
    Planted(test_commands.unknown_make_targets, "docs/a.md", "\n`make tests`", ":2: make tests: the", "`make test`"),
    Planted(
        test_commands.unknown_make_targets,
        "docs/a.md",
        "a\n\n    make test\n    make bench ROUND=1 # more\n",
        ":4: make bench ROUND=1 # more: the Makefile has no variable ROUND",
        "    make bench BENCH_ARGS=1 # more\n",
    ),
    Planted(
        test_commands.unknown_commands,
        "docs/a.md",
        "`kafkastore cluster state`",
        ":1: kafkastore cluster state: kafkastore cluster: No such command 'state'",
        "`kafkastore cluster status`",
    ),
    Planted(
        test_commands.unknown_commands,
        "docs/a.md",
        "`kafkastore check --deep`",
        ":1: kafkastore check --deep: there is no option --deep",
        "`kafkastore check --deep-iteration`",
    ),
    Planted(
        test_commands.unknown_commands,
        "docs/a.md",
        "```sh\nkafkastore cluster add-brokers \\\n  --dry-run\n```\n",
        ":2: kafkastore cluster add-brokers --dry-run: kafkastore cluster add-brokers: Missing option",
        "```sh\nkafkastore cluster add-brokers --bootstrap-server a:1 --brokers 4  # four | five\n```\n",
    ),
    Planted(
        test_commands.unknown_commands,
        "docs/a.md",
        "    kafkastore check DIR... [--topics NAME] [--json]\n",
        ":1: kafkastore check DIR... [--topics NAME] [--json]: there is no option --topics",
        "    kafkastore check DIR... [--topic NAME] [--json]\n",
    ),
    Planted(
        test_commands.unknown_keys,
        "docs/a.md",
        "\n`log.retention.hour=1`",
        ":2: log.retention.hour is no key",
        "`log.retention.hours=1`, `listener.name.a.ssl.client.auth`, `kafkastore.scan`, `server.properties`",
    ),
    Planted(
        test_commands.unknown_keys,
        "docs/a.md",
        "```properties\nlog.dir.s=/data\n```\n",
        ":2: log.dir.s is no key",
        "```properties\nlog.dirs=/data\n```\n",
    ),
    Planted(
        test_maps.modules_that_are_not_there,
        f"{PACKAGE}/replica/__init__.py",
        '"""``manager`` and ``managers``."""',
        ":1: names managers, which",
        '"""``manager``."""',
    ),
    Planted(
        test_maps.missing_tests,
        "docs/a.md",
        "`rust/index/tests.rs::entries_are`",
        ":1: rust/index/tests.rs has no entries_are",
        "`rust/index/tests.rs::entries_are_kafkas_bytes`",
    ),
    Planted(test_maps.missing_paths, "rust/io/a.rs", "\n// docs/no.md", ":2: names docs/no.md", "// docs/scan.md"),
    Planted(
        test_blocks.blocks_that_nothing_runs,
        "docs/a.md",
        "a\n\n    kafkastore check data\n",
        ":3: nothing runs this",
        "<!-- not run: it is long -->\n\n    kafkastore check data\n\na\n\n    make test\n",
    ),
    Planted(
        test_blocks.blocks_that_nothing_runs,
        "docs/a.md",
        "```python\nf()\n```\n",
        ":2: nothing runs this",
        "<!-- not run: it is long -->\n```python\nf()\n```\n",
    ),
    Planted(
        test_blocks.unknown_targets_of_cargo,
        "docs/a.md",
        "\n    cargo test --test fuss\n",
        ":2: Cargo.toml has no test fuss",
        "    cargo test --test fuzz\n    cargo bench --bench scan\n",
    ),
    Planted(
        test_references.references_to_what_is_elsewhere,
        "rust/io/a.rs",
        "\n// as Issue\n// 13, item 3, says",
        ":2: say in words what Issue // 13",
        "// KIP-98, an issue of 13",
    ),
    Planted(
        test_references.numbers_of_requirements,
        f"{PACKAGE}/a.py",
        "# spec: R1.2",
        ":1: R1.2: docs/internals/requirements.md names the tests",
        "# H2",
    ),
    Planted(
        test_handlers.unknown_fields,
        HANDLER,
        "context.answer(error_code=0, throttle=1)",
        ":1: no version of the response has ['throttle']",
        "context.answer(error_code=0)",
    ),
    Planted(
        test_handlers.missing_fields,
        HANDLER,
        "context.answer(error_code=0)",
        ":1: the response v0 needs ['groups']",
        "context.answer(error_code=0, groups=())",
    ),
    Planted(
        test_handlers.requests_of_other_types,
        HANDLER,
        REQUEST + "async def handle(context: RequestContext, request: Any): ...",
        ":2: handle takes ['RequestContext', 'Any']",
        REQUEST + "async def handle(context: RequestContext, request: ListGroupsRequest): ...",
    ),
    Planted(
        test_handlers.signatures_that_say_any,
        HANDLER,
        "\ndef f(a: list[Any]): ...",
        ":2: a handler's types",
        "a: Anyone",
    ),
    Planted(test_handlers.ways_past_mypy, HANDLER, "\ngetattr(a, b)", ":2: no handler reaches", "a.b"),
]


def failures() -> Iterator[str]:
    for planted in PLANTED:
        rule = planted.rule.__name__
        found = list(planted.rule([Source(planted.name, planted.text)]))
        if not found or not found[0].startswith(f"{planted.name}{planted.said}"):
            yield f"{planted.name}:1: {rule} has found {found or 'nothing'}, not {planted.said}"
        right = planted.name.replace("utils", "sockets").replace("common", "topic")
        refused = list(planted.rule([Source(right, planted.right)]))
        if refused:
            yield f"{planted.name}:1: {rule} refuses what is right: {refused}"


def test_each_rule_finds_what_breaks_it_and_nothing_else() -> None:
    report(failures())
