"""Three brokers on loopback for trials: ``python -m cluster FOLDER [sqlite|zookeeper]``; Ctrl-C stops them (``make
cluster``)."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from cluster.cluster import Cluster
from peer.broker_process import BrokerFailedError

FIRST_PORT = 9092


def main(folder: str, store: str = "zookeeper") -> int:
    cluster = Cluster(Path(folder).resolve(), store)
    for number, broker in enumerate(cluster.brokers):
        broker.port = FIRST_PORT + number
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    try:
        cluster.start()
        kept_in = cluster.zookeeper.address if cluster.zookeeper else folder + "/metadata.sqlite"
        print(f"Three brokers, metadata in {kept_in}, data and logs in {folder}.")
        print(f"  bootstrap.servers={cluster.bootstrap}")
        print("Ctrl-C stops them.", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("Stopping")
    except BrokerFailedError as error:  # a port in use, say: the broker's output names it
        print(error, file=sys.stderr)
        failed = 1
    finally:
        codes = cluster.stop()
        cluster.close()
    return max(failed, *codes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
