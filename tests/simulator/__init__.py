"""A cluster in one process, with a clock, a network, disks and a store of its own, all ordered by a seed
(docs/internals/simulator.md)."""
