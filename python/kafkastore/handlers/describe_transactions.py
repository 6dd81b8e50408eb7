"""DescribeTransactions (65): the transactional ids that the request names, with their open transactions (KIP-664).

Each id has its own error. Topics that the client may not describe are left out. An id that is named again is described
again, within bounds (``repeats``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DESCRIBE, TOPIC, TRANSACTIONAL_ID
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.handlers.repeats import Repeats
from kafkastore.requests.authorization import allowed

if TYPE_CHECKING:
    from kafkastore._core import TransactionDescription, Unwritten
    from kafkastore.protocol.describe_transactions import DescribeTransactionsRequest
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeTransactionsRequest) -> Unwritten:
    describe = context.broker.transaction_coordinator.describe_transaction
    may_describe = allowed(context, DESCRIBE, TRANSACTIONAL_ID, request.transactional_ids)
    turn = context.turn()
    repeats = Repeats()
    rows: list[bytes] = []
    async for transactional_id in turn.each(request.transactional_ids):
        if transactional_id not in may_describe:
            rows.append(_refused(context, transactional_id, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            continue
        try:
            repeats.check(transactional_id)
            rows.append(await _row(context, describe(transactional_id), turn))
        except KafkastoreError as error:
            rows.append(_refused(context, transactional_id, error.code))
        repeats.note(transactional_id, len(rows[-1]))
    return context.answer(transaction_states=rows)


async def _row(context: RequestContext, found: TransactionDescription, turn: Turn) -> bytes:
    topics: dict[str, list[int]] = {}
    async for run in turn.runs(found.partitions):
        for topic, partition in run:
            topics.setdefault(topic, []).append(partition)
    may_describe = allowed(context, DESCRIBE, TOPIC, topics)
    return context.row(
        "TransactionState",
        error_code=ErrorCode.NONE,
        transactional_id=found.transactional_id,
        transaction_state=found.state,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[
            context.row("TopicData", topic=topic, partitions=partitions)
            async for topic, partitions in turn.each(topics.items())
            if topic in may_describe
        ],
    )


def _refused(context: RequestContext, transactional_id: str, error_code: int) -> bytes:
    return context.row(
        "TransactionState",
        error_code=error_code,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=(),
    )
