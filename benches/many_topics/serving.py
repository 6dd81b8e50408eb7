"""``python -m many_topics.serving ARGUMENT ...``: ``kafkastore broker`` with these arguments, whose loop is watched.

For each line on standard input it writes one line: the longest callback of the loop since the last line, in ms of CPU,
and the callback's name.
"""

from __future__ import annotations

import sys
import threading

from control.measure import Holds

from kafkastore.cli import main


def _answer(holds: Holds) -> None:
    for _ in sys.stdin:
        longest_s = holds.look()
        print(f"{longest_s * 1000:.1f} {holds.what}", flush=True)


if __name__ == "__main__":
    threading.Thread(target=_answer, args=(Holds(),), daemon=True).start()
    sys.exit(main.main(["broker", *sys.argv[1:]]))
