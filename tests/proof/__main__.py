"""The tests as `make` runs them, in the folder ``tests``:

- ``python -m proof test [ARGUMENT OF PYTEST …]`` is `make test`;
- ``python -m proof prove [GROUP …]`` is `make proof`, whole or of some groups;
- ``python -m proof check`` is what CI asks of the record that `make proof` keeps.
"""

from __future__ import annotations

import sys

from proof import phases, prove

USAGE = 2


def main() -> int:
    verb, *arguments = sys.argv[1:] or [""]
    if verb == "test":
        return phases.main(arguments)
    if verb == "prove":
        return prove.main(arguments)
    if verb == "check":
        return prove.check()
    print(__doc__, file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
