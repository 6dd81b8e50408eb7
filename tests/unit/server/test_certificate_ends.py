"""What is said of certificates that end, and how often."""

from __future__ import annotations

import logging

import pytest

from kafkastore.server import certificate_ends
from kafkastore.server.certificate_ends import DAY_S, EndWarnings, sentences

NOW_S = 1_800_000_000


def test_few_days_are_counted_and_many_say_nothing() -> None:
    def of(left_s: float, key: str = "ssl.keystore") -> list[str]:
        return [sentence for sentence, _ in sentences("SSL", [(key, "CN=a", int(NOW_S + left_s))], NOW_S)]

    assert of(30 * DAY_S + 1) == []
    assert of(30 * DAY_S) == [
        "listener SSL: the certificate CN=a of ssl.keystore ends on 2027-02-14 08:00 UTC, in 30 days; then clients "
        "refuse it: renew it"
    ]
    assert "in less than a day; then" in of(DAY_S - 1)[0]
    assert of(0, "ssl.truststore") == [
        "listener SSL: the certificate CN=a of ssl.truststore has ended on 2027-01-15 08:00 UTC; what it has signed is "
        "refused: renew it"
    ]


def test_each_step_is_said_once_and_another_certificate_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ends = [("ssl.keystore", "CN=a", NOW_S + 40 * DAY_S), ("ssl.truststore", "CN=b", NOW_S + 900 * DAY_S)]
    monkeypatch.setattr(certificate_ends, "certificate_ends", lambda _: list(ends))
    now = [NOW_S]
    monkeypatch.setattr(certificate_ends.time, "time", lambda: now[0])
    warnings = EndWarnings()
    warnings.note("SSL", {})
    assert warnings.earliest() == {("SSL", "keystore"): ends[0][2], ("SSL", "truststore"): ends[1][2]}
    with caplog.at_level(logging.WARNING):
        said = []
        for day in range(42):
            now[0] = NOW_S + day * DAY_S
            for _ in range(3):
                warnings.look()
            said.append(len(caplog.messages))
    steps = [day for day in range(1, 42) if said[day] > said[day - 1]]
    assert (steps, said[-1]) == ([10, 33, 39, 40], 4)
    ends[0] = ("ssl.keystore", "CN=a", NOW_S + 60 * DAY_S)
    warnings.note("SSL", {})
    assert len(caplog.messages) == 5
