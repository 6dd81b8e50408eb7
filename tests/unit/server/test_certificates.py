"""When the files of certificates are read again."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from fake_engine import Security, StartError
from world import broker_config

from kafkastore.server.certificates import Certificates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class CountingSecurity(Security):
    reads = 0
    is_refusing = False

    def set_tls(self, listener: str, pairs: dict[str, str]) -> None:
        self.reads += 1
        if self.is_refusing:
            raise StartError("no certificate")


def _watched(folder: Path) -> tuple[Path, CountingSecurity, Certificates]:
    """A file of certificates, with what watches it."""
    path, security = folder / "broker.pem", CountingSecurity()
    path.write_text("old")
    listeners = "PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.1:9093"
    config = broker_config(folder, listeners=listeners, ssl__keystore__location=str(path), ssl__keystore__type="PEM")
    certificates = Certificates(config, security, None)  # type: ignore[arg-type]
    certificates.read()
    assert security.reads == 1
    return path, security, certificates


def _renew_in_place(path: Path) -> None:
    """Another content of the same length in the same file, only later."""
    before = os.stat(path)
    path.write_text("new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def _replace(path: Path) -> None:
    """Another file of the same length and time."""
    before = os.stat(path)
    other = path.with_suffix(".new")
    other.write_text("new")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def _lengthen(path: Path) -> None:
    """Another length of the same file, at the same time."""
    before = os.stat(path)
    path.write_text("newer")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("renew", [_renew_in_place, _replace, _lengthen])
def test_renewed_certificate_is_read_once(tmp_path: Path, renew: Callable[[Path], None]) -> None:
    path, security, certificates = _watched(tmp_path)
    asyncio.run(certificates.look())
    assert security.reads == 1
    renew(path)
    for _ in range(2):
        asyncio.run(certificates.look())
    assert security.reads == 2


def test_certificate_that_cannot_be_used_is_logged_once_and_read_when_it_changes_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, security, certificates = _watched(tmp_path)
    security.is_refusing = True
    _renew_in_place(path)
    for _ in range(2):
        asyncio.run(certificates.look())
    assert [record.getMessage() for record in caplog.records] == [
        "The certificates in use stay as they are: no certificate"
    ]
    _renew_in_place(path)
    asyncio.run(certificates.look())
    assert security.reads == 3
