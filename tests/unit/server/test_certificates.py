"""When the files of certificates are read again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stepped import Engine, Noting
from world import broker_config

from kafkastore._core import issue_certificates
from kafkastore.server.certificates import Certificates


def _watched(folder: Path) -> tuple[Path, Noting, Certificates]:
    """A file of certificates, with what watches it."""
    path, security = folder / "broker.pem", Engine(1, "", [], {}).security()
    _, (certificate, key), _ = issue_certificates(["localhost"], [], int(time.time()), 365)
    path.write_text(key + certificate)
    listeners = "PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.1:9093"
    config = broker_config(folder, listeners=listeners, ssl__keystore__location=str(path), ssl__keystore__type="PEM")
    certificates = Certificates(config, security, None)  # type: ignore[arg-type]
    certificates.read()
    assert _reads(security) == 1
    return path, security, certificates


def _reads(security: Noting) -> int:
    return security.calls.count("set_tls")


def _write_later(path: Path, text: str) -> None:
    before = os.stat(path)
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def _renew_in_place(path: Path) -> None:
    """A content of the same length in the same file, only later."""
    _write_later(path, path.read_text())


def _replace(path: Path) -> None:
    """Another file of the same length and time."""
    before = os.stat(path)
    other = path.with_suffix(".new")
    other.write_text(path.read_text())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def _lengthen(path: Path) -> None:
    """Another length of the same file, at the same time."""
    before = os.stat(path)
    path.write_text(path.read_text() + "\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("renew", [_renew_in_place, _replace, _lengthen])
def test_renewed_certificate_is_read_once(tmp_path: Path, renew: Callable[[Path], None]) -> None:
    path, security, certificates = _watched(tmp_path)
    asyncio.run(certificates.look())
    assert _reads(security) == 1
    renew(path)
    for _ in range(2):
        asyncio.run(certificates.look())
    assert _reads(security) == 2


def test_certificate_that_cannot_be_used_is_logged_once_and_read_when_it_changes_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, security, certificates = _watched(tmp_path)
    _write_later(path, "no certificate")
    for _ in range(2):
        asyncio.run(certificates.look())
    (record,) = caplog.records
    reason = f"listener SSL: ssl.keystore.location={path} has no certificate in PEM"
    assert record.getMessage().startswith(f"The certificates in use stay as they are: {reason}")
    _write_later(path, "none either")
    asyncio.run(certificates.look())
    assert _reads(security) == 3
