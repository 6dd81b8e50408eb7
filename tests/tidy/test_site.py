"""The pages make a site: each is in its menu, each table and each reference is understood, a search finds them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tidy.sources import ROOT, pages

if TYPE_CHECKING:
    from pathlib import Path


def test_site_is_made_of_every_page_without_a_warning(tmp_path: Path) -> None:
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", ROOT / "packaging" / "site"]
    made = subprocess.run([*sphinx, ROOT / "docs", tmp_path], capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    names = {page.name.removeprefix("docs/").removesuffix(".md") for page in pages() if page.name != "README.md"}
    assert len(names) > 50
    assert {name for name in names if not (tmp_path / f"{name}.html").exists()} == set()
    menu = (tmp_path / "index.html").read_text()
    not_in_it = {name for name in names if f'<a class="reference internal" href="{name}.html">' not in menu}
    assert not_in_it == {"index"}
    assert '"rackawarereplicaselector"' in (tmp_path / "searchindex.js").read_text()
