"""AdoptSegments (27000): an API of our own, for bulk loads; the data plane has its bytes in ``rust/protocol``."""
