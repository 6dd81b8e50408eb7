"""A plan with pushed filters is one execution's. No Spark runs here.

spec: R5.3
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

import pytest

from kafkastore.spark import claims

if TYPE_CHECKING:
    from pathlib import Path


def test_a_plan_is_the_first_executions_and_old_claims_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(2):  # each of its tasks
        claims.claim("plan", "7")
    with pytest.raises(claims.ReusedPlanError, match="load\\(\\) the source anew"):
        claims.claim("plan", "8")
    claims.claim("other", "8")
    (folder,) = tmp_path.iterdir()
    assert {path.name for path in folder.iterdir()} == {"plan", "other"}
    long_ago = time.time() - claims.MAX_AGE_S - 60
    os.utime(folder / "plan", (long_ago, long_ago))
    claims.claim("third", "9")
    assert {path.name for path in folder.iterdir()} == {"other", "third"}
