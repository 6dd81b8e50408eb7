"""Puts the development build in the tests' environment: ``python3 tests/proof/environment.py VENV CORE``.

``kafkastore`` is then the package of this checkout, its ``_core`` the library CORE, and ``VENV/bin/kafkastore`` runs
it. With ``KAFKASTORE_BUILD=release`` in the environment the release build of the checkout is imported in its place. The
environment of `make run` is another one, which this never touches.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FINDER = '''\
"""Finds kafkastore._core and _simulator in the development build; written by tests/proof/environment.py."""
import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec

NAMES = "kafkastore._core", "kafkastore._simulator"
CORE = {core!r}


class DevelopmentBuild:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in NAMES:
            return None
        found = ModuleSpec(name, ExtensionFileLoader(name, CORE), origin=CORE)
        found.has_location = True
        return found


if os.environ.get("KAFKASTORE_BUILD") != "release":
    sys.meta_path.insert(0, DevelopmentBuild)
'''

COMMAND = """\
#!{python}
import sys
from kafkastore.cli.main import main
sys.exit(main())
"""


def main(venv: str, core: str) -> None:
    folder = Path(venv).resolve()
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "development_build.py").write_text(FINDER.format(core=str(Path(core).resolve())))
    (site / "kafkastore.pth").write_text(f"{ROOT / 'python'}\nimport development_build\n")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    about = site / f"kafkastore-{version}.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: kafkastore\nVersion: {version}\n")
    command = folder / "bin" / "kafkastore"
    command.write_text(COMMAND.format(python=folder / "bin" / "python"))
    command.chmod(0o755)


if __name__ == "__main__":
    main(*sys.argv[1:])
