"""``kafkastore completion``: what bash offers, in a bash that has loaded the script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkastore.cli import main as cli

OFFER = """
eval "$(kafkastore completion bash)"
complete -p kafkastore
offer() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _kafkastore_completion "$1" "${COMP_WORDS[COMP_CWORD]}"
  echo "${COMPREPLY[*]}"
}
offer kafkastore me
offer kafkastore cluster re
offer kafkastore sql --is
offer kafkastore dump --format j
offer kafkastore profile use s
"""


def test_bash_completes_commands_options_choices_and_names(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "kafkastore"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkastore "$@"\n')
    command.chmod(0o755)
    profiles = tmp_path / "kafkastore" / "profiles"
    profiles.mkdir(parents=True)
    for name in ("staging", "safe", "production"):
        (profiles / f"{name}.properties").write_text("bootstrap.servers=127.0.0.1:1\n")
    environment = {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    ran = subprocess.run(["bash", "--norc", "-c", OFFER], env=environment, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "complete -o nosort -F _kafkastore_completion kafkastore",
        "metadata",
        "reassign rebalance remove-brokers",
        "--isolation-level",
        "json",
        "safe staging",
    ]


@pytest.mark.parametrize(("shell", "mark"), [("zsh", "#compdef kafkastore"), ("fish", "complete --no-files --command")])
def test_other_shells_get_a_script_of_their_own(shell: str, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert mark in capsys.readouterr().out
