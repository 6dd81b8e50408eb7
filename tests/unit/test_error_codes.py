"""Python and Rust know the same error codes."""

from __future__ import annotations

from kafkastore._core import error_codes
from kafkastore.errors import ErrorCode


def test_python_names_each_error_code_as_rust_does() -> None:
    named = {name: code for name, code in vars(ErrorCode).items() if isinstance(code, int)}
    assert named == {name: code for code, name, _, _ in error_codes()}
