"""The errors of the client of another broker (``client.py``) when no answer came. They have a module of their own,
since a broker that is alone never needs a client."""

from __future__ import annotations

from kafkastore.errors import ErrorCode, KafkastoreError


class BrokerUnreachableError(KafkastoreError):
    """No answer came: it is unknown whether the broker executed the request."""

    code = ErrorCode.NETWORK_EXCEPTION
    text = "The server disconnected before a response was received."


class BrokerNotReachedError(BrokerUnreachableError):
    """Nothing was sent, so the broker did nothing."""
