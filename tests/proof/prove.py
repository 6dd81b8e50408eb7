"""``python -m proof prove [GROUP …]``: runs groups in full and keeps what they found in the record."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proof import record
from proof.groups import TEST_LIMIT_S, Group, Step, groups
from proof.phases import scratch
from proof.record import ROOT
from proof.timed import cpu_s_of_children

WHEEL = ROOT / ".venv-wheel"
EXTRAS = "arrow,metrics"
"""What its tests need of the packages that are not needed to serve."""

SHOWN_LINES = 40

LEFT = ROOT / "target" / "left"
"""A folder for each step whose tests failed, with what these left: logs of brokers and their directories."""


def installed_wheel() -> str:
    """Builds the wheel (`make wheel`), installs it into an environment of its own; its ``kafkastore``."""
    subprocess.run(["make", "--no-print-directory", "wheel"], cwd=ROOT, check=True)
    newest = max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(WHEEL)], check=True)
    pinned = ["--constraint", str(ROOT / "tests" / "requirements.txt")]
    subprocess.run([str(WHEEL / "bin" / "pip"), "install", "--quiet", f"{newest}[{EXTRAS}]", *pinned], check=True)
    return str(WHEEL / "bin" / "kafkastore")


class Report:
    """What the steps of a group found."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.seeds: dict[str, str] = {}
        self.findings: list[str] = []
        self.tests: dict[str, set[str]] = {}

    def of_pytest(self, path: Path) -> None:
        for case in ET.parse(path).getroot().iter("testcase"):
            names = (case.get("classname") or case.get("name") or "").split(".")  # the name alone: it was not collected
            at = next((index for index, name in enumerate(names) if name.startswith("test_")), len(names))
            file, test = "/".join(names[: at + 1]) + ".py", case.get("name", "").partition("[")[0]
            failures = [child for child in case if child.tag in ("failure", "error")]
            if failures:
                self.failed += 1
                message = (failures[0].get("message") or "").splitlines() or [""]
                self.findings.append(f"{file}::{case.get('name')}: {message[0][:200]}")
            elif any(child.tag == "skipped" for child in case):
                self.skipped += 1
            else:
                self.passed += 1
            self.tests.setdefault(file, set()).add(test)

    def of_program(self, step: Step, output: str, status: int) -> None:
        counts = re.findall(r"(\d+) passed; (\d+) failed; (\d+) ignored", output)
        self.passed += sum(int(row[0]) for row in counts) if counts else int(not status)
        self.skipped += sum(int(row[2]) for row in counts)
        for file, names in step.plays.items():
            self.tests.setdefault(file, set()).update(names)
        if status:
            named = re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE)
            self.failed += max(1, sum(int(row[1]) for row in counts))
            self.findings += named or [f"{step.name} ended with {status}: {''.join(output.splitlines()[-1:])[:200]}"]


def run_step(step: Step, folder: Path, environment: Mapping[str, str], report: Report) -> None:
    print(f"== {step.name}", flush=True)
    variables = {**os.environ, **environment, **step.environment, "TMPDIR": str(folder)}
    report.seeds |= {f"{step.name}: {key}": seed for key, seed in step.environment.items() if "SEED" in key}
    if step.folders:
        path = folder / f"{step.name}.xml"
        options = ["-o", f"timeout={TEST_LIMIT_S}", "-o", "tmp_path_retention_policy=failed", f"--junitxml={path}"]
        status = subprocess.run([*step.command, *options], cwd=ROOT, env=variables, check=False).returncode
        if path.exists():
            report.of_pytest(path)
        if status not in (0, 1) or not path.exists():
            report.failed += 1
            report.findings.append(f"{step.name} ended with {status}")
        return
    log = folder / "step.log"
    with log.open("w+") as sink:
        command = subprocess.run(
            step.command, cwd=ROOT, env=variables, stdout=sink, stderr=subprocess.STDOUT, check=False
        )
        sink.seek(0)
        output = sink.read()
    print(*output.splitlines()[-SHOWN_LINES:], sep="\n", flush=True)
    report.of_program(step, output, command.returncode)


def keep(folder: Path, step: Step) -> None:
    """Copies what failed tests left, in place of what the step left before; disks that tests made stay sparse."""
    kept = LEFT / step.name.replace(" ", "-")
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(folder), str(kept)], check=False)
    print(f"what the failed tests left is in {kept}", flush=True)


def _sources(group: Group) -> tuple[str, str]:
    """The commit, and what differs from it. Ends the program when git does not tell."""
    commit = record.git("rev-parse", "HEAD")
    if not commit:
        sys.exit(f"git does not tell which commit {ROOT} is of; see `git -C {ROOT} status`")
    written = f":(exclude){record.RECORD.relative_to(ROOT)}"  # by the groups before this one
    return commit, record.git("status", "--porcelain", "--", *group.sources, written)


def prove(name: str, group: Group) -> bool:
    """Runs one group and writes its entry; whether all passed."""
    before = _sources(group)
    environment = {"KAFKASTORE": installed_wheel()} if group.needs_wheel else {}
    report, begin, used = Report(), time.monotonic(), cpu_s_of_children()
    for step in group.steps:
        failed = report.failed
        with scratch() as folder:
            run_step(step, folder, environment, report)
            if report.failed > failed:
                keep(folder, step)
    commit, changes = before
    entry: dict[str, Any] = {
        "commit": commit,
        "has_changes": bool(changes) or _sources(group) != before,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "wall_s": round(time.monotonic() - begin),
        "cpu_s": round(cpu_s_of_children() - used),
        "build": "wheel" if group.needs_wheel else "development",
        "passed": report.passed,
        "failed": report.failed,
        "skipped": report.skipped,
        "seeds": report.seeds,
        "findings": report.findings,
        "sources": list(group.sources),
        "tests": {file: " ".join(sorted(tests)) for file, tests in sorted(report.tests.items())},
    }
    record.write(name, entry)
    print(f"{name}: {report.passed} passed, {report.failed} failed, {entry['wall_s']} s", flush=True)
    return not report.failed


def main(names: Sequence[str]) -> int:
    """0 when every group passed; 2 when a name is no group's."""
    known = groups()
    if unknown := [name for name in names if name not in known]:
        print(f"no group is named {', '.join(unknown)}; the groups are {', '.join(known)}", file=sys.stderr)
        return 2
    results = [prove(name, known[name]) for name in names or known]
    return 0 if all(results) else 1


def check() -> int:
    """Prints what is wrong with the record; 1 when anything is."""
    try:
        found = record.problems()
    except ValueError as error:
        found = [str(error)]
    print(*found, sep="\n")
    return 1 if found else 0
