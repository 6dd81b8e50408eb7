"""On which metadata store a test plays a cluster.

Both stores keep one contract, which ``unit/metadata/store_contract.py`` proves of SQLite and ``metadata`` of ZooKeeper.
So `make test` plays a test of a cluster on one store; on both where the test itself is about the store: it is away, its
nodes are invalid. SQLite is the rule, since it needs no JVM; on ZooKeeper are the tests in which its sessions, its
watches or the layout of its nodes do the work. `make proof` plays all on both.
"""

from __future__ import annotations

from proof.scope import played

BOTH = ("sqlite", "zookeeper")
ON_SQLITE = played(BOTH[:1], BOTH)
ON_ZOOKEEPER = played(BOTH[1:], BOTH)
