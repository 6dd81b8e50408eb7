"""The table of mutants fits the sources: what it changes is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.mutant_table import MUTANTS, Mutant
from proof.mutants import ROOT, mutated


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_text_of_a_mutant_is_in_its_file_once(mutant: Mutant) -> None:
    source = (ROOT / mutant.file).read_text()
    assert mutated(mutant, source, mutant.replacement) != source


def test_names_of_mutants_are_of_one_mutant_each() -> None:
    assert len({one.name for one in MUTANTS}) == len(MUTANTS)


def test_every_folder_that_decides_about_records_has_a_mutant() -> None:
    folders = {Path(one.file).parts[: 3 if not one.is_rust else 2][-1] for one in MUTANTS}
    assert len(folders) >= 20, folders
