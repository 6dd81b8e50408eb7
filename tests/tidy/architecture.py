"""What the code has of the tables of ``docs/internals/architecture.md``: calls, events, threads, locks, APIs,
folders."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tidy.sources import PYTHON, ROOT, RUST, dotted, python_sources, rust_sources, source

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "internals" / "architecture.md"
STUB = PYTHON / "_core.pyi"
LOCK = r"\b(?:Mutex|RwLock)<"
TEST_DOUBLES = {
    "broker/testing.rs",
    "coordinator/testing.rs",
    "coordinator/transactions/testing.rs",
    "io/fault.rs",
    "simulator/lib.rs",
    "simulator/mailbox.rs",
    "simulator/peers.rs",
    "storage/testing.rs",
}
"""Compiled for tests and for the simulator alone."""


def section(title: str) -> str:
    """The text below a heading, as far as the next one."""
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


def rows(title: str, head: str) -> list[list[str]]:
    """The cells of a table, which begins with the cell ``head``, in a section."""
    lines = iter(section(title).splitlines())
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(f"| {head} |"):
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    break
                found.append([cell.strip() for cell in row.strip("|").split("|")])
    assert found, f"the section {title} has no table whose first column is {head}"
    return found


def names(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def rust_code() -> Iterator[tuple[str, str]]:
    """Each file of the product below ``rust/`` with its code, without comments."""
    for one in rust_sources():
        name = "/".join(one.parts)
        if not one.is_rust_test and name not in TEST_DOUBLES:
            yield name, one.code


# ---- the boundary


def stub_classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in source(STUB).tree.body if isinstance(node, ast.ClassDef)}


def methods_of(name: str) -> set[str]:
    body = stub_classes()[name].body
    return {node.name for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")}


def events_of_stub() -> set[str]:
    """The classes of what ``Engine.take`` gives."""
    (take,) = (
        node for node in stub_classes()["Engine"].body if isinstance(node, ast.FunctionDef) and node.name == "take"
    )
    assert isinstance(take.returns, ast.Subscript)
    return {node.id for node in ast.walk(take.returns.slice) if isinstance(node, ast.Name)}


def events_of_rust() -> set[str]:
    """The classes that the events of the queue become."""
    text = (RUST / "python" / "events.rs").read_text()
    (body,) = re.findall(r"^(?:pub )?fn \w+\([^)]*broker::Event[^)]*\)[^{]*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {name.removeprefix("Py") for name in re.findall(r"\bobject\(\s*py,\s*([A-Z]\w+)", body)}


def served_by_rust() -> set[str]:
    """The APIs that the data plane serves; ApiVersions is answered by the connection itself."""
    return {name for _, code in rust_code() for name in re.findall(r"^impl Api for (\w+)", code, re.MULTILINE)}


# ---- threads

SPAWNS = r"(?:\bspawn_scoped\(|\.spawn\()"
NAMED = (
    r'\.name\(format!\("([^"]+)"\)\)',
    r'\.name\("([^"]+)"',
    r'Workers::start\([^,]+, "([^"]+)"',
    r'\.start_thread\((?:format!\()?"([^"]+)"',
    r'\blet name = format!\("([^"]+)"',
)
"""The ways in which Rust gives a thread a name."""
WITHOUT_A_NAME = {
    "broker/logs/closing.rs": "closing",
    "producer/committer.rs": "committer",
    "scan/check/run.rs": "check",
    "storage/close.rs": "closing",
    "storage/log_loader.rs": "recovery",
}
"""Threads that do not outlive a call; their row has this name, without backticks."""


def rust_threads() -> set[str]:
    """Names of threads, ``N`` for a number in them."""
    found: set[str] = set()
    for path, code in rust_code():
        given = {name for pattern in NAMED for name in re.findall(pattern, code)}
        pools = set(re.findall(r'Workers::start\([^,]+, "([^"]+)"', code))
        found |= {f"{name}-N" if name in pools else re.sub(r"\{[^}]*\}", "N", name) for name in given}
        if re.search(SPAWNS, code) and path not in WITHOUT_A_NAME:
            assert given or path == "broker/threads/workers.rs", f"{path} spawns a thread whose name is not known"
    return {name for name in found if name != "N-N"}


def python_threads() -> set[str]:
    """Names given to ``threading.Thread`` and ``ThreadPoolExecutor``; neither is made without one."""
    found: set[str] = set()
    for one in python_sources():
        for node in one.every(ast.Call):
            if dotted(node.func).rpartition(".")[2] in {"Thread", "ThreadPoolExecutor"}:
                given = [key.value for key in node.keywords if key.arg in {"name", "thread_name_prefix"}]
                assert given, f"{one}:{node.lineno}: a thread is made without a name"
                assert isinstance(given[0], ast.Constant)
                found.add(str(given[0].value))
    return found


# ---- locks


def rust_locks() -> set[str]:
    """``Type.field`` of each lock in a structure; the name of a tuple, a static or a type that is a lock itself."""
    return {lock for _, code in rust_code() for lock in _locks_in(code)}


def _locks_in(code: str) -> Iterator[str]:
    visible = r"^(?:pub(?:\([^)]*\))? )?"
    for name, tuple_body, body in re.findall(
        visible + r"struct (\w+)(?:<[^{(;]*>)?\s*(?:\((.*?)\);|\{(.*?)^\})", code, re.MULTILINE | re.DOTALL
    ):
        if re.search(LOCK, tuple_body):
            yield name
        for field, kind in re.findall(r"^    (?:pub(?:\([^)]*\))? )?(\w+): ([^\n]*)", body, re.MULTILINE):
            if re.search(LOCK, kind):
                yield f"{name}.{field}"
    yield from re.findall(visible + rf"(?:static|type) (\w+)[^;]*?{LOCK}", code, re.MULTILINE)


def python_locks() -> set[str]:
    """``module.py: name`` of each lock that is made."""
    found: set[str] = set()
    for one in python_sources():
        path = "/".join(one.parts)
        given = [(node.targets[0], node.value) for node in one.every(ast.Assign)]
        given += [(node.target, node.value) for node in one.every(ast.AnnAssign) if node.value]
        for target, value in given:
            if isinstance(value, ast.Call) and dotted(value.func) in {
                "asyncio.Lock", "asyncio.Condition",
                "threading.Lock", "threading.RLock", "threading.Condition",
            }:  # fmt: skip
                found.add(f"{path}: {ast.unparse(target).removeprefix('self.')}")
        for node in one.every(ast.ClassDef):
            if any(dotted(base) == "asyncio.Lock" for base in node.bases):
                found.add(f"{path}: {node.name}")
    return found


# ---- folders


def folders() -> set[str]:
    """Each folder of code right below ``rust`` and ``python/kafkastore``."""
    return {
        f"{name}/{entry.name}"
        for top, name in ((RUST, "rust"), (PYTHON, "python/kafkastore"))
        for entry in top.iterdir()
        if entry.is_dir() and any(entry.rglob("*.py" if top == PYTHON else "*.rs"))
    }
