"""Which partition of ``__consumer_offsets`` keeps a group: as Kafka's brokers choose it, for ever.

Kafka takes ``Utils.abs(groupId.hashCode()) % partitions``, where ``Utils.abs`` maps the one integer without a positive
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


def partition_for(group_id: str, partition_count: int) -> int:
    hash_code = java_string_hash(group_id)
    return (0 if hash_code == INT_MIN else abs(hash_code)) % partition_count


def hash_map_bucket(text: str) -> int:
    """Where a Java HashMap of 16 buckets keeps a key: the order in which Kafka meets the candidates of a tied vote."""
    hash_code = java_string_hash(text) & 0xFFFFFFFF
    return (hash_code ^ (hash_code >> 16)) & 15
