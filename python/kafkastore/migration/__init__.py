"""From Apache Kafka to kafkastore, or from any cluster to any other.

``directory.py`` says what a log directory is, and ``verdict.py`` whether a broker of ours serves it. A cluster is
mirrored over the network after a plan (``plan.py``, made by ``planning.py``): ``preparing.py`` makes what is to be
there, ``lane.py`` copies records, ``marks.py`` knows which offset of the target is which one of the source,
``groups.py`` sets groups, ``comparing.py`` looks whether both ends are the same, and ``migration.py`` runs it all.
Nothing here prints, and nothing parses flags.
"""
