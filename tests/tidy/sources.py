"""The project's own files, for the tests that read them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python" / "kafkastore"
RUST = ROOT / "rust"


def python_files() -> list[Path]:
    return sorted(PYTHON.rglob("*.py"))


def rust_files() -> list[Path]:
    return sorted(RUST.rglob("*.rs"))


def is_rust_test(path: Path) -> bool:
    """Unit tests stand beside their module as ``tests.rs`` or in a folder ``tests`` (style rule 29)."""
    return path.stem.endswith("tests") or "tests" in path.relative_to(RUST).parts[:-1]
