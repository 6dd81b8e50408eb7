"""How Sphinx makes a site of ``docs`` (``make site``).

The pages are written to be read in the repository, too: nothing in them is Sphinx's. So the menu is made of the tables
of ``index.md``, and links that leave ``docs`` lead to the repository, where that is known.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "kafkastore"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["notebooks"]
html_theme = "furo"
html_title = "kafkastore"
html_copy_source = False
html_show_copyright = False
highlight_language = "none"  # of indented blocks: shells, properties, layouts
myst_heading_anchors = 4

LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)((?:#[^)]*)?)\)")


def menu(text: str) -> str:
    """A hidden toctree for each section of ``index.md``: the pages of its table."""
    made = []
    for section in text.split("\n## ")[1:]:
        pages = re.findall(r"^\| \[[^\]]*\]\(([^)]+)\.md\) \|", section, re.MULTILINE)
        made.append("\n".join(["```{toctree}", ":hidden:", f":caption: {section.splitlines()[0]}", "", *pages, "```"]))
    return "\n\n".join(made)


def link(found: re.Match[str], page: Path, docs: Path) -> str:
    """A link to what is no page: to the repository of the workflow that builds the site, else its words alone."""
    words, target, anchor = found.groups()
    path = (page.parent / target).resolve()
    if path.is_relative_to(docs) and path.suffix == ".md":
        return found[0]
    repository = os.environ.get("GITHUB_REPOSITORY")
    if repository is None:
        return words
    commit = os.environ.get("GITHUB_SHA", "HEAD")
    return f"[{words}](https://github.com/{repository}/blob/{commit}/{path.relative_to(docs.parent)}{anchor})"


def as_a_site(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    text = LINK.sub(lambda found: link(found, page, Path(app.srcdir)), source[0])
    source[0] = f"{text}\n\n{menu(source[0])}\n" if name == "index" else text


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", as_a_site)
    return {"parallel_read_safe": True}
