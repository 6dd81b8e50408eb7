"""The answer to a ``transactional.id``, since this version has no transactions: an error that no client retries, and
one log line.

COORDINATOR_NOT_AVAILABLE would be retried until the producer's own time-out, and the application would blame the
network. TRANSACTIONAL_ID_AUTHORIZATION_FAILED is fatal at once in every client, with the message where the version has
room for one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.errors import TransactionalIdAuthorizationFailedError

if TYPE_CHECKING:
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.handlers.no_transactions")

MESSAGE = "this version of kafkastore has no transactions; produce without a transactional.id"
SHOWN_LENGTH = 100  # of a client's string in a log line


def refused(context: RequestContext, transactional_id: str) -> TransactionalIdAuthorizationFailedError:
    """The error to answer with. The first refusal of this broker's life is logged."""
    if context.broker.transaction_refusal.is_first():
        logger.warning(
            "transactional.id %s of %s is refused: %s (said once)",
            transactional_id[:SHOWN_LENGTH], context.request.client_host, MESSAGE,
        )  # fmt: skip
    return TransactionalIdAuthorizationFailedError(MESSAGE)
