"""Command lines of public runbooks, tutorials, manuals and scripts, as they stand at their addresses, and what our
commands must do with them: ``runbook_machine.py`` runs them. docs/tools.md lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

DOCS: Final = "https://kafka.apache.org/documentation/"
GITHUB: Final = "https://github.com/"
GIST: Final = "https://gist.github.com/"


@dataclass(frozen=True)
class Runbook:
    """``lines`` are a script for bash, which may fail nowhere, not within a pipe either; ``prints`` is a regular
    expression of all that it prints on stdout."""

    name: str
    what: str
    source: str
    lines: str
    prints: str
    topics: dict[str, int] = field(default_factory=dict)
    """What must exist before: topics, with their numbers of partitions."""
    records: dict[str, str] = field(default_factory=dict)
    """Lines of ``key:value`` by topic."""
    groups: dict[str, tuple[str, int]] = field(default_factory=dict)
    """A topic and an offset that is committed in all its partitions, by group."""
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    typed: str = ""
    """What somebody types."""
    until: str = ""
    """Ctrl-C is pressed when this is printed: the last command of the snippet has no end."""
    statuses: tuple[int, ...] = (0,)


RUNBOOKS: Final = (
    Runbook(
        "topic-configs",
        "a topic with configurations of its own",
        f"{DOCS}#topicconfigs",
        "bin/kafka-topics.sh --bootstrap-server localhost:9092 --create --topic my-topic --partitions 1 \\\n"
        "  --replication-factor 1 --config max.message.bytes=64000 --config flush.messages=1\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type topics --entity-name my-topic --describe",
        r"Created topic my-topic\.\nDynamic configs for topic my-topic are:\n"
        r"  flush\.messages=1 sensitive=false synonyms=.*\n"
        r"  max\.message\.bytes=64000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:max\.message\.bytes=64000, .*\n",
    ),
    Runbook(
        "dynamic-brokers",
        "configurations of a broker, and of all",
        f"{DOCS}#dynamicbrokerconfigs",
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type brokers --entity-name 0 --alter "
        "--add-config log.cleaner.threads=2\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type brokers --entity-name 0 --describe\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type brokers --entity-name 0 --alter "
        "--delete-config log.cleaner.threads\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type brokers --entity-default --alter "
        "--add-config log.cleaner.threads=2\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --entity-type brokers --entity-default --describe",
        r"Completed updating config for broker 0\.\nDynamic configs for broker 0 are:\n"
        r"  log\.cleaner\.threads=2 sensitive=false synonyms=\{DYNAMIC_BROKER_CONFIG:log\.cleaner\.threads=2, .*\}\n"
        r"Completed updating config for broker 0\.\nCompleted updating default config for brokers in the cluster\.\n"
        r"Default configs for brokers in the cluster are:\n  log\.cleaner\.threads=2 sensitive=false .*\n",
    ),
    Runbook(
        "quotas",
        "quotas of users and of clients",
        f"{DOCS}#quotas",
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --alter --add-config "
        "'producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=200' --entity-type users --entity-name "
        "user1 --entity-type clients --entity-name clientA\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --alter --add-config "
        "'producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=200' --entity-type clients --entity-name "
        "clientA\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --describe --entity-type users --entity-name user1 "
        "--entity-type clients --entity-name clientA\n"
        "bin/kafka-configs.sh --bootstrap-server localhost:9092 --describe --entity-type clients --entity-name "
        "clientA",
        r"Completed updating config for user user1\.\nCompleted updating config for client clientA\.\n"
        r"Quota configs for user-principal 'user1', client-id 'clientA' are consumer_byte_rate=2048\.0, .*\n"
        r"Quota configs for client-id 'clientA' are consumer_byte_rate=2048\.0, producer_byte_rate=1024\.0, .*\n",
    ),
    Runbook(
        "acls",
        "ACLs of a topic, of all topics and of a prefix",
        f"{DOCS}#security_authz_examples",
        "bin/kafka-acls.sh --bootstrap-server localhost:9092 --add --allow-principal User:Bob --allow-principal "
        "User:Alice --allow-host 198.51.100.0 --allow-host 198.51.100.1 --operation Read --operation Write --topic "
        "Test-topic\n"
        "bin/kafka-acls.sh --bootstrap-server localhost:9092 --add --allow-principal User:Peter --allow-host "
        "198.51.200.1 --producer --topic '*'\n"
        "bin/kafka-acls.sh --bootstrap-server localhost:9092 --add --allow-principal User:Jane --producer --topic "
        "Test- --resource-pattern-type prefixed\n"
        "bin/kafka-acls.sh --bootstrap-server localhost:9092 --list --topic '*'\n"
        "bin/kafka-acls.sh --bootstrap-server localhost:9092 --list --topic Test-topic --resource-pattern-type match",
        r"(?s)(Adding ACLs for resource .*){3}(Current ACLs for resource .*){4}",
    ),
    Runbook(
        "leaders",
        "preferred leaders of all partitions",
        f"{DOCS}#basic_ops_leader_balancing",
        "bin/kafka-leader-election.sh --bootstrap-server localhost:9092 --election-type preferred "
        "--all-topic-partitions",
        "",
    ),
    Runbook(
        "quorum",
        "the metadata quorum",
        f"{DOCS}#kraft_debug",
        "bin/kafka-metadata-quorum.sh --bootstrap-server localhost:9092 describe --status",
        r"(?s)ClusterId: +\S{22}\nLeaderId: +0\n.*",
    ),
    Runbook(
        "server",
        "a new cluster: an id, a formatted log directory, a broker",
        f"{GITHUB}no-milk-today/practicum-samples/blob/HEAD/src/main/java/org/drm/kafka/howto.md",
        'KAFKA_CLUSTER_ID="$(bin/kafka-storage.sh random-uuid)"\n'
        "echo $KAFKA_CLUSTER_ID\n"
        "bin/kafka-storage.sh format --standalone -t $KAFKA_CLUSTER_ID -c config/server.properties\n"
        "bin/kafka-server-start.sh config/server.properties",
        r"(?s)\S{22}\nFormatting dynamic metadata voter directory .*/kraft-combined-logs with metadata\.version 4.*"
        r"is ready.*",
        files={
            "config/server.properties": "process.roles=broker,controller\nnode.id=1\n"
            "listeners=PLAINTEXT://localhost:19092,CONTROLLER://localhost:19093\n"
            "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=localhost:19093\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            "log.dirs=kraft-combined-logs\n"
        },
        until="started|is ready",
        statuses=(0, 130),
    ),
    Runbook(
        "create-loop",
        "topics of a list of names",
        f"{GITHUB}IST-4P/trustmebro-server/blob/HEAD/cmd.md",
        "for t in create_brand update_brand delete_brand; do\n"
        'kafka-topics.sh --create --topic "$t" --bootstrap-server localhost:9092\n'
        "done",
        r"(WARNING: .*\nCreated topic (create|update|delete)_brand\.\n){3}",
    ),
    Runbook(
        "health-topics",
        "a health check of a container",
        f"{GITHUB}bitnami/containers/issues/75323",
        "kafka-topics.sh --list --bootstrap-server localhost:9092 || exit 1",
        r"(\S+\n)+",
    ),
    Runbook(
        "health-versions",
        "a health check of a container",
        f"{GITHUB}tbocinec/educates-labs/blob/HEAD/workshops/kafka-base/docker-compose.yml",
        "kafka-broker-api-versions --bootstrap-server localhost:9092 || exit 1",
        r"127\.0\.0\.1:9092 \(id: 0 rack: null isFenced: false\) -> \(\n(\t\w+\(\d+\): .*\n)+\)\n",
    ),
    Runbook(
        "group-loops",
        "each group described, and those of console consumers deleted",
        f"{GITHUB}lucapette/dotfiles/blob/HEAD/zsh/kafka.zsh",
        "for group in $(kafka-consumer-groups --bootstrap-server localhost:9092 --list); do\n"
        "  kafka-consumer-groups --bootstrap-server localhost:9092 --describe --group $group\n"
        "done\n"
        "for group in $(kafka-consumer-groups --bootstrap-server localhost:9092 --list | grep console-); do\n"
        "  kafka-consumer-groups --bootstrap-server localhost:9092 --delete --group $group\n"
        "done",
        r"(?s)(\nGROUP .*){2}(Deletion of requested consumer groups \('console-\d+'\) was successful\.\n){2}",
        topics={"looped": 1},
        groups={"console-12": ("looped", 0), "console-7": ("looped", 0)},
    ),
    Runbook(
        "resets",
        "offsets by distance, duration, end and date",
        f"{GITHUB}vinsguru/reactive-kafka-course/blob/HEAD/01-workspace/02-kafka-101/06-reset-offset.sh",
        " kafka-consumer-groups.sh \\\n    --bootstrap-server localhost:9092 \\\n    --group cg \\\n"
        "    --topic hello-world \\\n    --reset-offsets \\\n    --shift-by -3 \\\n    --dry-run \n"
        "kafka-consumer-groups.sh \\\n    --bootstrap-server localhost:9092 \\\n    --topic hello-world \\\n"
        "    --group cg \\\n    --reset-offsets \\\n    --by-duration PT5M \\\n    --execute\n"
        "kafka-consumer-groups.sh \\\n    --bootstrap-server localhost:9092 \\\n    --topic hello-world \\\n"
        "    --group cg \\\n    --reset-offsets \\\n    --to-latest \\\n    --execute   \n"
        "kafka-consumer-groups.sh \\\n    --bootstrap-server localhost:9092 \\\n    --topic hello-world \\\n"
        "    --group cg \\\n    --reset-offsets \\\n    --to-datetime 2023-01-01T01:00:00.000 \\\n"
        "    --execute            ",
        "".join(rf"\nGROUP +TOPIC +PARTITION +NEW-OFFSET\ncg +hello-world +0 +{offset}\n" for offset in (1, 0, 4, 0)),
        topics={"hello-world": 1},
        records={"hello-world": "a:1\nb:2\nc:3\nd:4\n"},
        groups={"cg": ("hello-world", 4)},
    ),
    Runbook(
        "keys",
        "records with keys, written and read",
        f"{GITHUB}tbocinec/educates-labs/blob/HEAD/workshops/kafka-cli-tools/workshop/content/"
        "03-kafka-console-producer.md",
        'echo -e "user123:login\\nuser456:signup\\nuser123:page_view\\nuser789:purchase\\nuser123:logout" | \\\n'
        "kafka-console-producer \\\n  --bootstrap-server $BOOTSTRAP \\\n  --topic user-events \\\n"
        '  --property "parse.key=true" \\\n  --property "key.separator=:"\n'
        "kafka-console-consumer --bootstrap-server $BOOTSTRAP \\\n  --topic user-events \\\n  --from-beginning \\\n"
        '  --property print.key=true \\\n  --property key.separator=" => " \\\n  --timeout-ms 3000',
        r"Warning: --property is deprecated .*\nOption --property is deprecated .*\n"
        r"(?s:.*)user123 => login\nuser123 => page_view\nuser123 => logout\n(user\d+ => \w+\n)*",
        topics={"user-events": 3},
        environment={"BOOTSTRAP": "localhost:9092"},
    ),
    Runbook(
        "admin",
        "sizes, changed topics, groups and partitions without a leader, in a container",
        f"{GITHUB}tbocinec/educates-labs/blob/HEAD/backup/kafka-cli/workshop/content/07-admin-tools.md",
        "docker exec kafka kafka-log-dirs --bootstrap-server localhost:9092 --describe | grep -E "
        '"\\"topic\\"|\\"size\\""\n'
        "docker exec kafka kafka-topics --bootstrap-server localhost:9092 --describe --topics-with-overrides\n"
        "docker exec kafka kafka-topics --bootstrap-server localhost:9092 --describe --unavailable-partitions\n"
        "docker exec kafka kafka-consumer-groups --bootstrap-server localhost:9092 --describe --all-groups | head -20\n"
        "docker exec kafka kafka-consumer-groups --bootstrap-server localhost:9092 --describe --group "
        "order-processing --state\n"
        "docker exec kafka kafka-consumer-perf-test --topic user-events --messages 10000 --bootstrap-server "
        "localhost:9092 --reporting-interval 1000",
        r"(?s)\{\"brokers\":.*\}\n.*Topic: my-topic\t.*\nGROUP +TOPIC .*order-processing .* Empty .* 10000, .*\n",
        topics={"user-events": 3},
        records={"user-events": "".join(f"k{n}:v{n}\n" for n in range(10_000))},
        groups={"order-processing": ("user-events", 1000)},
    ),
    Runbook(
        "lag",
        "the lag of a group, summed",
        f"{GITHUB}tbocinec/educates-labs/blob/HEAD/workshops/kafka-cli-tools/workshop/content/"
        "05-kafka-consumer-groups.md",
        "kafka-consumer-groups --bootstrap-server $BOOTSTRAP \\\n    --group demo-group \\\n    --describe | awk "
        '\'NR>1 {sum+=$5} END {print "Total LAG:", sum, "messages"}\'',
        r"Total LAG: \d+ messages\n",
        topics={"consumer-demo": 6},
        records={"consumer-demo": "".join(f"k{n}:v{n}\n" for n in range(50))},
        groups={"demo-group": ("consumer-demo", 2)},
        environment={"BOOTSTRAP": "localhost:9092"},
    ),
    Runbook(
        "count",
        "the number of records of a topic",
        f"{GITHUB}vdesabou/kafka-docker-playground/blob/HEAD/scripts/cli/src/commands/topic/get-number-records.sh",
        'class_name="org.apache.kafka.tools.GetOffsetShell"\n'
        'parameter_for_list_broker="--bootstrap-server"\n'
        'docker exec "$broker_container" kafka-run-class "$class_name" "$parameter_for_list_broker" '
        '"$broker_container":9092 $security --topic "$topic" --time -1 | grep -v "No configuration found" | '
        "awk -F \":\" '{sum += $3} END {print sum}'",
        r"40\n",
        topics={"counted": 4},
        records={"counted": "".join(f"k{n}:v{n}\n" for n in range(40))},
        environment={"broker_container": "localhost", "security": "", "topic": "counted"},
    ),
    Runbook(
        "delete-records",
        "records deleted up to the end",
        f"{GIST}benpdavison/a4b52a7b2dcd397c6bf42a821d0f2129",
        "kafka-delete-records --bootstrap-server localhost:9092 --offset-json-file ./offsetfile.json",
        r"Executing records delete operation\nRecords delete operation completed:\n"
        r"partition: event_source\.quotes-0\tlow_watermark: 2\n",
        topics={"event_source.quotes": 1},
        records={"event_source.quotes": "a:1\nb:2\n"},
        files={
            "offsetfile.json": '{"partitions": [{ "topic": "event_source.quotes", "partition": 0, "offset": -1 }], '
            '"version":1 }'
        },
    ),
    Runbook(
        "delete-some",
        "topics listed and described, and a file of records to delete",
        f"{GITHUB}codejsha/infrastructure-examples/blob/HEAD/kafka/command/kafka-topic-commands.sh",
        "kafka-topics.sh \\\n    --bootstrap-server localhost:9092 \\\n    --create \\\n    --partitions 3 \\\n"
        "    --replication-factor 1 \\\n    --topic my.topic\n"
        "kafka-topics.sh \\\n    --bootstrap-server localhost:9092 \\\n    --describe \\\n    --topic my.topic\n"
        "cat <<EOF > ./delete-records.json\n"
        '{\n  "partitions": [\n    {\n      "topic": "my.topic",\n      "partition": 0,\n      "offset": 0\n    }\n'
        '  ],\n  "version": 1\n}\nEOF\n'
        "kafka-delete-records.sh \\\n    --bootstrap-server localhost:9092 \\\n"
        "    --offset-json-file delete-records.json",
        r"(?s)WARNING.*\nCreated topic my\.topic\.\n.*Topic: my\.topic\tTopicId: \S+\tPartitionCount: 3\t.*"
        r"partition: my\.topic-0\tlow_watermark: 0\n",
    ),
    Runbook(
        "dump",
        "a log segment with its records",
        f"{GITHUB}confluentinc/kafka-tutorials/blob/HEAD/_includes/tutorials/message-ordering/kafka/code/"
        "tutorial-steps/test/dump-log-segments-0.sh",
        "docker exec -t broker kafka-dump-log \\\n  --print-data-log \\\n"
        "  --files '/var/lib/kafka/data/myTopic-0/00000000000000000000.log' \\\n  --deep-iteration",
        r"(?s)Dumping /var/lib/kafka/data/myTopic-0/0{20}\.log\nLog starting offset: 0\nbaseOffset: 0 .*"
        r" key: a payload: foo\n.* key: b payload: bar\n",
        topics={"myTopic": 1},
        records={"myTopic": "a:foo\nb:bar\n"},
    ),
    Runbook(
        "hanging",
        "transactions that hang",
        f"{GITHUB}fvaleri/strimzi-debugging/blob/2320da94b55645cc2103707d5e48812c100e19d4/sessions/008/README.md",
        "$KAFKA_HOME/bin/kafka-transactions.sh --bootstrap-server :9092 find-hanging --broker 0",
        r"Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\t.*\n",
    ),
    Runbook(
        "box",
        "the cluster's id, log directories, versions and topics",
        f"{GITHUB}izzyacademy/kafka-in-a-box/blob/HEAD/README.md",
        "./kafka-cluster.sh cluster-id --bootstrap-server localhost:9092\n"
        "./kafka-log-dirs.sh --describe --bootstrap-server localhost:9092\n"
        "./kafka-broker-api-versions.sh --bootstrap-server localhost:9092\n"
        "./kafka-topics.sh --bootstrap-server localhost:9092 --create --topic countrypopulation --partitions 2 "
        "--replication-factor 1\n"
        "./kafka-topics.sh --bootstrap-server localhost:9092 --describe countrypopulation",
        r"(?s)Cluster ID: \S{22}\nQuerying brokers for log directories information\n.*\{\"brokers\":.*\}\n"
        r"127\.0\.0\.1:9092 \(id: 0 .*Created topic countrypopulation\.\n.*Topic: countrypopulation\t.*",
    ),
    Runbook(
        "reassign",
        "a plan for the partitions of topics, verified and executed",
        f"{GITHUB}roccqqck/kafka-conf/blob/HEAD/kafka-reassign-partitions.md",
        "kafka-reassign-partitions.sh --bootstrap-server localhost:9092 --topics-to-move-json-file "
        'topics-to-move.json --broker-list "0,1," --generate\n'
        "kafka-reassign-partitions.sh --bootstrap-server localhost:9092 --reassignment-json-file "
        "expand_cluster_reassignment.json --verify\n"
        "kafka-reassign-partitions.sh --bootstrap-server localhost:9092 --reassignment-json-file "
        "expand_cluster_reassignment.json --execute",
        r"(?s)Current partition replica assignment\n\{.*\}\n\nProposed partition reassignment configuration\n\{.*\}\n"
        r"Status of partition reassignment:\nReassignment of partition topicWithThreeBroker-0 is completed\.\n.*"
        r"Successfully started partition reassignments for topicWithThreeBroker-0,topicWithThreeBroker-1\n",
        topics={"topicWithThreeBroker": 2},
        files={
            "topics-to-move.json": '{\n  "topics": [\n    {"topic": "topicWithThreeBroker"}\n  ],\n  "version": 1\n}\n',
            "expand_cluster_reassignment.json": '{"version":1,"partitions":[{"topic":"topicWithThreeBroker",'
            '"partition":0,"replicas":[0],"log_dirs":["any"]},{"topic":"topicWithThreeBroker","partition":1,'
            '"replicas":[0],"log_dirs":["any"]}]}',
        },
    ),
    Runbook(
        "perf",
        "a load of 50 MB",
        f"{GITHUB}1123/parallel-consumer-test/blob/HEAD/produce-sample-data.sh",
        "kafka-producer-perf-test --producer-props bootstrap.servers=localhost:9092 --topic t1 --throughput -1 "
        "--record-size 1000 --num-records 50000",
        r"Option --producer-props has been deprecated .*\n50000 records sent, .* records/sec .*\n",
    ),
    Runbook(
        "verifiable",
        "records that say what they are",
        f"{GITHUB}codejsha/infrastructure-examples/blob/HEAD/kafka/command/kafka-producer-commands.sh",
        "kafka-verifiable-producer.sh \\\n    --bootstrap-server localhost:9092 \\\n    --max-messages 100 \\\n"
        "    --topic verify.test",
        r"(?s).*\"producer_send_success\",\"key\":null,\"value\":\"99\".*\"sent\":100,\"acked\":100,.*\n",
    ),
    Runbook(
        "one-message",
        "the first record of a topic",
        f"{GITHUB}framiere/a-kafka-story/blob/HEAD/step1/README.md",
        "docker-compose exec kafka kafka-console-consumer --bootstrap-server localhost:9092 --topic sample "
        "--from-beginning --max-messages=1",
        r"story\n",
        records={"sample": "k:story\nk:end\n"},
        topics={"sample": 1},
    ),
    Runbook(
        "states",
        "groups and their states",
        f"{GITHUB}IvanSScrobot/cheetsheets/blob/HEAD/kafka/cli/README.md",
        "kafka-consumer-groups.sh --bootstrap-server localhost:9092 --describe --all-groups  --state\n"
        "./kafka-consumer-groups.sh --bootstrap-server localhost:9092 --list --state",
        r"(?s)\nGROUP +COORDINATOR \(ID\) .*Empty.*GROUP +STATE +\n.*",
    ),
    Runbook(
        "headers",
        "records with headers",
        f"{GITHUB}Aleks-Ya/yaal_examples/blob/HEAD/CLI/Kafka/KafkaCLI/kafka-console-producer.md",
        'echo "my message" | kafka-console-producer.sh --bootstrap-server localhost:9092 --topic=topic1\n'
        "kafka-console-producer.sh \\\n\t--bootstrap-server localhost:9092 \\\n\t--topic=topic1 \\\n"
        '\t--property "parse.headers=true"',
        r"Warning: --property is deprecated .*\n",
        typed="header1:value1,header2:value2\tmy_message\n",
    ),
    Runbook(
        "client-metrics",
        "a subscription to clients' metrics",
        "https://docs.warpstream.com/warpstream/kafka/configure-kafka-client/client-metrics-kip-714",
        "kafka-configs.sh --bootstrap-server $BOOTSTRAP \\\n    --alter \\\n    --entity-type client-metrics \\\n"
        "    --entity-name all-clients \\\n    --add-config 'interval.ms=60000,metrics=,match='",
        r"Completed updating config for client-metric all-clients\.\n",
        environment={"BOOTSTRAP": "localhost:9092"},
    ),
    Runbook(
        "delete-one",
        "a topic deleted, and the rest listed",
        "https://docs.redhat.com/zh-cn/documentation/red_hat_streams_for_apache_kafka/2.8/html/"
        "using_streams_for_apache_kafka_on_rhel_in_kraft_mode/proc-deleting-a-topic-str",
        "/opt/kafka/bin/kafka-topics.sh --bootstrap-server localhost:9092 --delete --topic mytopic\n"
        "/opt/kafka/bin/kafka-topics.sh --bootstrap-server localhost:9092 --list",
        r"(?!(?s:.*\n)?mytopic\n)(\S+\n)+",
        topics={"mytopic": 1},
    ),
    Runbook(
        "partitions",
        "partitions added",
        f"{GIST}alexandreaquiles/6f3603b18d93ffab8e966905cef84232",
        "bin/kafka-topics.sh --bootstrap-server localhost:9092 --create --topic TEST --partitions 3\n"
        "bin/kafka-topics.sh --bootstrap-server localhost:9092 --alter --topic BOOK_ORDERS --partitions 3\n"
        "bin/kafka-consumer-groups.sh --bootstrap-server localhost:9092 --list\n"
        "bin/kafka-consumer-groups.sh --bootstrap-server localhost:9092 --describe --group EbookGeneratorService",
        r"(?s)Created topic TEST\.\n.*EbookGeneratorService\n.*\nEbookGeneratorService BOOK_ORDERS .*\n",
        topics={"BOOK_ORDERS": 1},
        groups={"EbookGeneratorService": ("BOOK_ORDERS", 0)},
    ),
    Runbook(
        "features",
        "the levels of features",
        f"{DOCS}#kraft",
        "bin/kafka-features.sh --bootstrap-server localhost:9092 describe",
        r"(Feature: \S+\s+SupportedMinVersion: .*Epoch: \d+\n)+",
    ),
    Runbook(
        "delete-all",
        "every topic deleted",
        f"{GITHUB}javaHelper/Java-Spring-Apache-Kafka-Bootcamp---Basic-to-Complete",
        "kafka-topics --bootstrap-server localhost:9092 --delete --topic '.*'",
        "",
    ),
)
"""The last one deletes the topics of the others."""
