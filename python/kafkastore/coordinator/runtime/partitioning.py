"""The partition of an internal topic that keeps a key (a group id, a transactional id): the choice is that of Kafka's
brokers, and must never change.

Kafka takes ``Utils.abs(key.hashCode()) % partitions``, where ``Utils.abs`` maps the one integer without a positive
twin to 0. That is not ``hash & 0x7fffffff``: the two differ for every negative hash.
"""

from __future__ import annotations

import struct
from typing import Final

INT_MIN: Final = -(1 << 31)


def java_string_hash(text: str) -> int:
    """``String.hashCode``: over UTF-16 code units, as a signed 32-bit integer."""
    data = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        result = (result * 31 + unit) & 0xFFFFFFFF
    return result - (1 << 32) if result & 0x80000000 else result


def partition_for(key: str, partition_count: int) -> int:
    hash_code = java_string_hash(key)
    return (0 if hash_code == INT_MIN else abs(hash_code)) % partition_count
