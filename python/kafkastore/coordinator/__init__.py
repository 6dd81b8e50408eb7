"""Coordinators: state machines over the records of an internal topic.

===========================  ==========================================================================
``group_coordinator``        the object that handlers call for groups; ``group_service`` assembles it
``group/``                   the parts for every kind of group: storage, offsets, deletion and expiry
``group/classic/``           the state machine of groups whose leader assigns the partitions
``transaction_coordinator``  the object that handlers call for transactions; ``transaction_service``
                             assembles it
``transaction/``             loading, listing and describing transactional ids
``producer_ids``             blocks of producer ids
``runtime/``                 the parts that every coordinator is built on
===========================  ==========================================================================

``docs/internals/coordinators.md`` says how to build another coordinator.
"""
