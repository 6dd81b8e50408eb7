"""Coordinators: state machines over the records of an internal topic.

======================  ==========================================================================
``group_coordinator``   the object that handlers call for groups; ``group_service`` assembles it
``group/``              the parts for every kind of group: storage, offsets, deletion and expiry
``group/classic/``      the state machine of groups whose leader assigns the partitions
``producer_ids``        ids of idempotent producers
``runtime/``            the parts that every coordinator is built on
======================  ==========================================================================

``docs/coordinators.md`` says how to build another coordinator.
"""
