"""The body of an answer with an error, for any request of a client: as the broker answers where every part of a request
fails with the same error.

``requests/error_response.py`` has it for the APIs of the control plane. Those of the data plane that name their parts
otherwise are here. Case M: an answer of Metadata with an error still has the brokers, so the broker's own is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import decode_response, response_encoder
from kafkastore.messages import replaced
from kafkastore.requests.error_response import error_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.requests.registry import Api

FETCH_SESSION_ID_NOT_FOUND: Final = 70
SESSIONS_FROM: Final = 7
"""The first version of Fetch that has sessions (KIP-227)."""


def error_body(api: Api, version: int, request: Any, code: int) -> bytes:
    """The answer to ``request``, a decoded one."""
    made = _OWN.get(api.name)
    if made is not None:
        fields = made(request, version, code)
        if fields is not None:
            return response_encoder(api.key, version).row(fields)
    return b"".join(error_answer(api, version, request, code, None).pieces())


def changed_metadata(version: int, body: bytes, code: int) -> bytes:
    """Case M: the broker's answer, in which every topic has the error."""
    answer = decode_response(3, version, body)
    topics = [replaced(one, error_code=code, partitions=()) for one in answer.topics]
    return response_encoder(3, version).row(
        {name: getattr(answer, name) for name in answer.__match_args__ if name != "topics"} | {"topics": topics}
    )


def _produce(request: Any, version: int, code: int) -> dict[str, Any]:
    def partition(one: Any) -> dict[str, Any]:
        return {"index": one.index, "error_code": code, "base_offset": -1, "record_errors": ()}

    return {
        "responses": [
            _topic(topic, "name", 13, version)
            | {"partition_responses": [partition(one) for one in topic.partition_data]}
            for topic in request.topic_data
        ]
    }


def _fetch(request: Any, version: int, code: int) -> dict[str, Any] | None:
    if code == FETCH_SESSION_ID_NOT_FOUND:
        return {"error_code": code, "session_id": 0, "responses": ()}

    def partition(one: Any) -> dict[str, Any]:
        return {
            "partition_index": one.partition,
            "error_code": code,
            "high_watermark": -1,
            "aborted_transactions": (),
            "records": b"",
        }

    return {
        "error_code": 0,
        "session_id": 0,
        "responses": [
            _topic(topic, "topic", 13, version) | {"partitions": [partition(one) for one in topic.partitions]}
            for topic in request.topics
        ],
    }


def _add_partitions(request: Any, version: int, code: int) -> dict[str, Any] | None:
    if version > 3:
        return {"error_code": code, "results_by_transaction": ()}
    return {
        "results_by_topic_v3_and_below": [
            {
                "name": topic.name,
                "results_by_partition": [
                    {"partition_index": index, "partition_error_code": code} for index in topic.partitions
                ],
            }
            for topic in request.v3_and_below_topics
        ]
    }


def _topic(topic: Any, name: str, ids_from: int, version: int) -> dict[str, Any]:
    return {"topic_id": topic.topic_id} if version >= ids_from else {name: getattr(topic, name)}


_OWN: Final[dict[str, Callable[[Any, int, int], dict[str, Any] | None]]] = {
    "AddPartitionsToTxn": _add_partitions,
    "Fetch": _fetch,
    "Produce": _produce,
}
