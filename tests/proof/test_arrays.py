"""Covering arrays cover, and are smaller than their matrix."""

from __future__ import annotations

from itertools import product

from proof.arrays import pairs_of, pairwise

CLIENTS, CODECS, LEVELS, STORES = ("java", "go", "librdkafka"), ("none", "gzip", "zstd", "lz4"), (0, 1), ("a", "b")


def test_pairwise_rows_have_every_pair_of_values() -> None:
    matrix = list(product(CLIENTS, CODECS, LEVELS, STORES))
    rows = pairwise(CLIENTS, CODECS, LEVELS, STORES)
    assert set().union(*map(pairs_of, rows)) == set().union(*map(pairs_of, matrix))
    assert set(rows) < set(matrix)
    assert len(rows) <= 15  # of 48; 12 are needed for the two longest alone
    assert rows == pairwise(CLIENTS, CODECS, LEVELS, STORES)


def test_pairwise_of_two_parameters_is_their_product() -> None:
    assert pairwise(CLIENTS, LEVELS) == list(product(CLIENTS, LEVELS))
