"""Finds the handler of a request. The request came over a connection (``kafka_apis.py``), from this broker itself, or
in an Envelope from another broker.

Handlers are imported when the first request of their API arrives. Only this module and ``kafka_apis.py`` know where the
handlers are; lower layers ask :class:`Dispatch`. ``assembly.py`` gives it the broker's services when they are made.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkastore.errors import KafkastoreError
from kafkastore.requests.context import RequestContext
from kafkastore.requests.forwarding import OWN, InternalRequest
from kafkastore.requests.registry import BY_KEY

if TYPE_CHECKING:
    from kafkastore.messages import OutgoingRequest
    from kafkastore.requests.forwarding import Handler
    from kafkastore.requests.registry import Api
    from kafkastore.requests.services import BrokerServices


class Dispatch:
    """See the module. Runs on the loop."""

    services: BrokerServices
    """Set once, before any request. Not a constructor argument, since the services have parts that need this object."""

    def context(self, request: Any, api: Api) -> RequestContext:
        return RequestContext(request, api, self.services, is_trusted=request.is_trusted)

    def handler(self, api: Api) -> Handler:
        found: Handler = import_module(f"kafkastore.handlers.{api.module}").handle
        return found

    async def serve(self, request: OutgoingRequest) -> Any:
        """Answers a request of this broker itself as if it had come over the inter-broker listener."""
        api, version = BY_KEY[request.api_key], request.version
        listener = self.services.config.inter_broker_listener
        requested = InternalRequest(api.key, version, "controller", "/127.0.0.1", listener, b"", OWN, is_trusted=True)
        context, read = self.context(requested, api), request.decoded()
        try:
            return context.as_object(await self.handler(api)(context, read))
        except KafkastoreError as error:
            from kafkastore.requests.error_response import error_answer

            return context.as_object(error_answer(api, version, read, error.code, error.client_message))
