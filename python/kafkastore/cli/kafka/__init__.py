"""Kafka's own command line tools under their own names, with the flags and the outputs of Kafka 4.4: a file for each
tool, ``kafka-topics`` is ``topics.py``. ``run.py`` finds a tool and ends it as Kafka's end; ``flags.py`` reads flags as
Kafka's tools do.

What a tool prints for scripts is Kafka's word for word; texts for people, help and reasons, are ours.
"""
