"""CreatePartitions (37): grows topics to a number of partitions, with replicas placed by the broker or by the asker.

Translates between the wire and ``server/topics.py``, which owns the rules. What concerns the request as a whole is
checked here: a topic that stands in it more than once fails once. One topic's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkastoreError,
    NotControllerError,
    RequestTimedOutError,
)
from kafkastore.server.context import milliseconds

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    if milliseconds(request.timeout) <= 0:
        raise RequestTimedOutError
    counts: dict[str, int] = {}
    for topic in request.topics:
        counts[topic.name] = counts.get(topic.name, 0) + 1
    results: list[Any] = []
    for topic in request.topics:
        count = counts.pop(topic.name, 0)
        if count == 0:
            continue  # the first of its name has failed for all of them
        code, message = ErrorCode.NONE, None
        try:
            if count > 1:
                raise InvalidRequestError("Duplicate topic name.")
            await _grow(context, topic, request.validate_only)
        except NotControllerError:
            if all(result.error_code != ErrorCode.NONE for result in results):
                raise  # nothing was done: the next controller is asked
            code, message = RequestTimedOutError.code, RequestTimedOutError.text
        except KafkastoreError as error:
            code, message = error.code, error.message
        results.append(
            context.row("CreatePartitionsTopicResult", name=topic.name, error_code=code, error_message=message)
        )
    return context.answer(results=results)


async def _grow(context: RequestContext, topic: Any, validate_only: bool) -> None:
    assignments = None
    if topic.assignments is not None:
        assignments = [assignment.broker_ids for assignment in topic.assignments]
    await context.broker.topics.create_partitions(topic.name, topic.count, assignments, validate_only=validate_only)
