"""Coordinators: state machines over the records of an internal topic.

======================  ==========================================================================
``group_coordinator``   what handlers call for groups; ``group_service`` puts it together
``group/``              what every kind of group has: where it is kept, its offsets, what goes
``group/classic/``      the state machine of groups whose members assign among themselves
``producer_ids``        ids of idempotent producers
``runtime/``            what every coordinator stands on
======================  ==========================================================================

``docs/coordinators.md`` says how another one is built.
"""
