"""The APIs between a controller and its brokers that Kafka 4 dropped with ZooKeeper, in kio's style, newest version of
each; and those for which kio has no class that does.

The layout is kio's (``<api>.v<N>.<request or response>``), so whatever reads, writes and checks kio's classes takes
these.
"""
