"""Types of the requests that handlers answer, one stub for each API, for mypy alone.

At run time a request is kio's dataclass of the API and version that was asked. A handler serves all versions, so it
names the types of these stubs, which say what kio's dataclasses have in common: ``HeartbeatRequestV0`` has the fields
of versions 0 to 2, ``HeartbeatRequestV3`` those from version 3 on, ``HeartbeatRequest`` is either. ``since(request,
3)`` (``since.py``) tells them apart at run time and for mypy, which refuses a field that the request may not have and a
version in which no field changes.

``make schema`` writes the stubs out of kio's dataclasses (``tests/tidy/request_types.py``); a test fails when they are
out of date. Nothing here is imported when a broker runs, but ``since``.
"""
