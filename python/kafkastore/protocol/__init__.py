"""Types of Kafka's messages that Python reads or writes, one stub for each API, for mypy alone.

What ``_core.decode_request`` and its like return are objects of one type for each struct of the table
(``rust/protocol/messages``), for all versions: a field that a version has not is there with Kafka's
default. The stubs have a class for each such type; a class says which fields not every version has. A class has Kafka's
name of the struct; where the request and the response of an API have structs of one name, the message's name stands
before it in the stub. Arrays are tuples, a UUID is 16 bytes or None for zero, error codes and times in milliseconds are
ints.

``make schema`` writes the stubs that are here (``rust/protocol/codec/stubs.rs``); a test of cargo's fails when they are
out of date. For one more API, begin with an empty stub.
Nothing here is imported when a broker runs: import the classes under ``TYPE_CHECKING``.
"""
