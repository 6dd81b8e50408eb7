"""What is done with whole topics and clusters on Spark: the functions behind ``kafkastore spark``.

Each takes a Spark session that has the jar (``kafkastore.spark.configure``). Records are read by
``format("kafkastore")`` in the JVM and never pass through Python.

session.py    a quiet session for a command, with the jar; Spark's failures as one sentence
files.py      files and folders wherever Spark's file systems reach
publishing.py the files of an export appear once, whole, whatever is killed
export.py     topics as a lake: incremental, partitioned by time
log_dirs.py   what log directories say about themselves
verify.py     every file of a cluster's log directories checked by tasks
replicas.py   the batches of each partition are the same on every broker
stats.py      sizes, rates, keys and codecs by topic
headers.py    what the headers of batches say, summed by tasks
hints.py      what the figures of a topic mean for its configuration
replay.py     a slice of a topic into another
tasks.py      texts as a data frame, one Spark task for each
"""

from kafkastore.exports import exported

__all__ = [
    "Export",
    "ExportReport",
    "Replay",
    "TopicStats",
    "VerifyReport",
    "export_topics",
    "replay_topic",
    "topic_stats",
    "verify_cluster",
]

__getattr__, __dir__ = exported(
    __name__,
    {
        "Export": "kafkastore.spark.pipeline.export",
        "ExportReport": "kafkastore.spark.pipeline.export",
        "Replay": "kafkastore.spark.pipeline.replay",
        "TopicStats": "kafkastore.spark.pipeline.stats",
        "VerifyReport": "kafkastore.spark.pipeline.verify",
        "export_topics": "kafkastore.spark.pipeline.export",
        "replay_topic": "kafkastore.spark.pipeline.replay",
        "topic_stats": "kafkastore.spark.pipeline.stats",
        "verify_cluster": "kafkastore.spark.pipeline.verify",
    },
)
