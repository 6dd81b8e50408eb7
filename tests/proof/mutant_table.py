"""The mutants that ``proof.mutants`` tries: at least one for each folder that decides about records, and each fence or
sync that once could be left out unnoticed."""

from __future__ import annotations

from typing import Final, NamedTuple


class Mutant(NamedTuple):
    """``text``, which ``file`` has once, becomes ``replacement``, and each of ``tests`` runs: one must fail. The text
    of a mutant of Rust is an expression or whole statements."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]
    """pytest's node ids, or full names of unit tests of Rust."""
    why: str
    """What goes wrong with it."""

    @property
    def is_rust(self) -> bool:
        return self.file.endswith(".rs")


_PACKAGE: Final = "python/kafkastore"
_UNIT: Final = "tests/unit"
_PROMISES: Final = f"{_UNIT}/durability/test_promises.py::test_promised_files_survive_a_power_loss"
_NAMES: Final = "tests/crash/test_topic_names.py"
_NAMES_OF_CLUSTER: Final = (
    "tests/crash/test_topic_names_of_clusters.py::test_nodes_of_every_name_leave_the_others_served"
)

OF_PYTHON: Final = (
    Mutant(
        "elr-trusted-below-a-lower-minimum",
        f"{_PACKAGE}/controller/leader_election.py",
        "trusted = state._replace(elr=())",
        "trusted = state",
        (
            f"{_UNIT}/controller/test_leader_election.py"
            "::test_eligible_replicas_are_trusted_no_more_after_the_minimum_was_lowered",
        ),
        "a replica without committed records is elected",
    ),
    Mutant(
        "drop-the-last-replicas",
        f"{_PACKAGE}/controller/leader_election.py",
        "    if not isr and not elr:\n        return None\n",
        "",
        (f"{_UNIT}/controller/test_leader_election.py::test_replicas_with_the_only_committed_records_are_not_dropped",),
        "a reassignment removes the only replicas with committed records",
    ),
    Mutant(
        "alter-partition-of-an-earlier-life",
        f"{_PACKAGE}/controller/alter_partition.py",
        "sender is None or sender.epoch != request.broker_epoch",
        "sender is None",
        (
            f"{_UNIT}/controller/test_alter_partition.py"
            "::test_unknown_topics_stale_broker_epochs_and_other_brokers_are_refused",
        ),
        "a proposal of a broker before its restart changes an in-sync set",
    ),
    Mutant(
        "sync-path-without-fsync",
        f"{_PACKAGE}/plain_files.py",
        "        sync_descriptor(descriptor)\n",
        "        pass\n",
        (f"{_PROMISES}[deleted log]",),
        "nothing that Python promises survives a power loss",
    ),
    Mutant(
        "configurations-without-directory-sync",
        f"{_PACKAGE}/dynamic_config/kept_configs.py",
        "                sync_path(directory)\n",
        "",
        (f"{_PROMISES}[configurations beside the logs]",),
        "the file of topics' configurations has no name after a power loss",
    ),
    Mutant(
        "adopted-log-without-directory-sync",
        f"{_PACKAGE}/log/strays.py",
        "            for log_dir in {one.log_dir for one in strays}:\n                sync_path(log_dir)\n",
        "",
        (f"{_PROMISES}[adopted log]",),
        "an adopted log is a stray again after a power loss",
    ),
    Mutant(
        "adopted-log-without-fsync",
        f"{_PACKAGE}/log/strays.py",
        "        sync_descriptor(file.fileno())\n",
        "",
        (f"{_PROMISES}[adopted log]",),
        "the start after a power loss does not know that a topic was adopted",
    ),
    Mutant(
        "exported-file-without-fsync",
        f"{_PACKAGE}/scanning/parquet_files.py",
        "        sync_descriptor(file.fileno())\n",
        "",
        (f"{_PROMISES}[exported file]",),
        "a file that the next export takes for whole is empty after a power loss",
    ),
    Mutant(
        "certificate-renewed-in-place",
        f"{_PACKAGE}/server/certificates.py",
        "about.st_ino, about.st_mtime_ns, about.st_size",
        "about.st_ino, 0, about.st_size",
        (f"{_UNIT}/server/test_certificates.py::test_renewed_certificate_is_read_once[_renew_in_place]",),
        "a certificate that is renewed in place with its size runs out in use",
    ),
    Mutant(
        "token-keys-without-rest",
        f"{_PACKAGE}/server/token_keys.py",
        "unknown == keys.unknown or now < keys.read_at + keys.settings.retry_max_ms / 1000",
        "unknown == keys.unknown",
        (
            f"{_UNIT}/server/test_token_keys.py::"
            "test_tokens_with_unknown_keys_read_the_set_again_no_sooner_than_the_longest_backoff",
        ),
        "tokens that anyone can make have the keys fetched all the time",
    ),
    Mutant(
        "next-place-from-the-first-broker",
        f"{_PACKAGE}/topic/placement.py",
        "partitions + (order.index(first) if first in order else 0)",
        "partitions",
        (f"{_UNIT}/topic/test_placement.py::test_partitions_that_are_added_go_on_after_the_topics_last_one",),
        "the leaders of added partitions pile up on the first brokers",
    ),
    Mutant(
        "order-for-an-earlier-life",
        f"{_PACKAGE}/replica/assigned.py",
        "if 0 <= broker_epoch < self.broker_epoch:",
        "if False:",
        (
            f"{_UNIT}/replica/test_assigned.py"
            "::test_requests_of_an_old_controller_or_with_a_stale_broker_epoch_have_no_effect",
        ),
        "an order for the life before a restart is obeyed",
    ),
    Mutant(
        "sync-of-another-generation",
        f"{_PACKAGE}/coordinator/group/classic/sync.py",
        "if request.generation_id != group.generation_id:",
        "if False:",
        (f"{_UNIT}/coordinator/test_group_membership.py::test_sync_checks",),
        "a member that missed a rebalance gets partitions that others have",
    ),
    Mutant(
        "postponed-timer-fires-early",
        f"{_PACKAGE}/purgatory/timer.py",
        "elif timer.deadline_ms > now_ms:",
        "elif False:",
        (
            f"{_UNIT}/purgatory/test_timer.py"
            "::test_a_timer_that_is_started_again_fires_at_the_new_deadline_later_or_earlier",
        ),
        "a member with heartbeats is removed",
    ),
    Mutant(
        "write-over-another-version",
        f"{_PACKAGE}/metadata/sqlite_transaction.py",
        "if operation.version not in (ANY_VERSION, version):",
        "if False:",
        (f"{_UNIT}/metadata/test_sqlite.py::TestSqliteStore::test_set_raises_the_version_and_checks_the_expected_one",),
        "two writers of one node lose a change",
    ),
    Mutant(
        "protection-that-is-not-there",
        f"{_PACKAGE}/config/effect.py",
        'if not asks_for_protection(name) or name.startswith("zookeeper."):',
        "if True:",
        (f"{_UNIT}/config/test_effect.py::test_key_that_asks_for_protection_refuses_the_start_and_is_named",),
        "a broker starts without the protection that its configuration asks for",
    ),
    Mutant(
        "expired-delegation-token",
        f"{_PACKAGE}/dynamic_config/delegation_tokens.py",
        "if period_ms >= 0 and min(token.max_ms, token.expires_ms) < now:\n                raise",
        "if period_ms >= 0 and token.max_ms < now:\n                raise",
        (
            f"{_UNIT}/dynamic_config/test_delegation_tokens.py"
            "::test_owner_and_renewers_move_the_end_within_the_longest_lifetime",
        ),
        "a token that has expired is renewed",
    ),
    Mutant(
        "acls-over-another-brokers",
        f"{_PACKAGE}/authorization/acls.py",
        "return SetData(path, encode(pattern, entries), node.version), entries",
        "return SetData(path, encode(pattern, entries), -1), entries",
        (f"{_UNIT}/authorization/test_acls.py::test_changes_of_two_brokers_at_once_are_both_made",),
        "an ACL that another broker has just removed is back",
    ),
    Mutant(
        "log-of-an-older-topic",
        f"{_PACKAGE}/membership/reconcile.py",
        "is_its = topic is not None and log.topic_id in (None, topic.topic_id)",
        "is_its = topic is not None",
        (f"{_UNIT}/membership/test_member.py::test_log_of_an_older_topic_of_the_name_counts_as_missing",),
        "records of a deleted topic are served as those of a new topic of its name",
    ),
    Mutant(
        "creation-that-is-repeated",
        f"{_PACKAGE}/requests/forwarding.py",
        "                if not is_repeatable:\n                    logger",
        "                if False:\n                    logger",
        (
            f"{_UNIT}/requests/test_forwarding.py"
            "::test_request_that_may_have_been_done_is_asked_once_and_answered_with_request_timed_out[DeleteTopics]",
        ),
        "a deletion that was done is done again, to a topic that was made since",
    ),
    Mutant(
        "topic-deleted-by-two-names",
        f"{_PACKAGE}/handlers/delete_topics.py",
        "        if count > 1:\n            errors[topic]",
        "        if False:\n            errors[topic]",
        (f"{_UNIT}/handlers/test_delete_topics.py::test_a_name_and_its_id_delete_nothing",),
        "a topic that a request names by name and by id is deleted twice",
    ),
    Mutant(
        "refill-with-the-same-time-again",
        f"{_PACKAGE}/dynamic_config/mutation_quotas.py",
        "        self._at_s = now_s\n",
        "        self._at_s = self._at_s or now_s\n",
        (
            f"{_UNIT}/dynamic_config/test_mutation_quotas.py"
            "::test_bucket_refills_only_with_the_time_since_it_last_refilled",
        ),
        "a client creates and deletes many more partitions than its quota lets it",
    ),
    Mutant(
        "followed-configurations-not-read-again",
        f"{_PACKAGE}/dynamic_config/changes.py",
        '            await self.apply("brokers", "")\n        await self.load_followed()\n',
        '            await self.apply("brokers", "")\n',
        (
            f"{_UNIT}/dynamic_config/test_config_changes.py"
            "::test_followed_configuration_that_changed_without_a_watch_is_read_in_the_next_session",
        ),
        "after an expired session a user or a token that was deleted meanwhile is still let in",
    ),
    Mutant(
        "settle-a-later-life",
        f"{_PACKAGE}/controller/broker_changes.py",
        "        if node.created == broker.epoch:\n",
        "        if True:\n",
        (f"{_UNIT}/controller/test_controller.py::test_unclean_restart_is_not_settled_with_an_earlier_one",),
        "a broker that restarted uncleanly twice may lead without the records that it lost the second time",
    ),
    Mutant(
        "renewed-token-deleted",
        f"{_PACKAGE}/dynamic_config/delegation_tokens.py",
        "if token is not None and min(token.expires_ms, token.max_ms) < now:",
        "if token is not None:",
        (
            f"{_UNIT}/dynamic_config/test_delegation_tokens.py"
            "::test_ended_token_that_another_broker_has_just_renewed_stays",
        ),
        "a token that its owner has just renewed lets nobody in",
    ),
    Mutant(
        "depose-without-epoch-check",
        f"{_PACKAGE}/controller/campaign.py",
        "await store.multi([Check(EPOCH_PATH, epoch.version), Delete(CONTROLLER_PATH)])",
        "await store.multi([Delete(CONTROLLER_PATH)])",
        (
            f"{_UNIT}/controller/test_controller.py"
            "::test_controller_that_is_elected_while_another_is_deposed_keeps_the_seat",
        ),
        "a controller that was elected meanwhile loses its seat, and nothing is decided until the next election",
    ),
    Mutant(
        "acls-of-the-last-node-only",
        f"{_PACKAGE}/authorization/acls.py",
        "found[pattern] = entries | found.get(pattern, frozenset())",
        "found[pattern] = entries",
        (f"{_UNIT}/authorization/test_acls.py::test_acls_of_two_nodes_that_name_one_pattern_are_all_in_effect",),
        "an ACL that denies is not in effect when a second node names its resource",
    ),
    Mutant(
        "isr-with-a-failed-log-directory",
        f"{_PACKAGE}/controller/alter_partition.py",
        "not context.is_online(partition, replica)",
        "replica not in context.brokers",
        (
            f"{_UNIT}/controller/test_alter_partition.py"
            "::test_replica_in_a_failed_log_directory_does_not_get_into_the_isr",
        ),
        "a replica whose disk has failed counts as a copy of acknowledged records",
    ),
    Mutant(
        "cleaner-thread-that-never-comes-back",
        f"{_PACKAGE}/log/cleaner.py",
        "        self._loops.pop(number, None)\n",
        "",
        (f"{_UNIT}/log/test_cleaner.py::test_thread_that_was_given_up_comes_back_when_it_is_wanted_again",),
        "compaction stays slow until a restart when log.cleaner.threads was lowered and raised again",
    ),
    Mutant(
        "exported-files-with-an-offset-in-common",
        f"{_PACKAGE}/scanning/parquet_files.py",
        "other.start_offset < one.end_offset",
        "other.start_offset < one.end_offset - 1",
        (f"{_UNIT}/scanning/test_parquet_files.py::test_files_with_one_offset_in_common_are_refused",),
        "readers of an exported topic count a record twice",
    ),
    Mutant(
        "quotas-of-a-deleted-node",
        f"{_PACKAGE}/dynamic_config/quotas.py",
        "self._note(entity, {} if data is None else ",
        "data is None or self._note(entity, ",
        (f"{_UNIT}/dynamic_config/test_quotas.py::test_quotas_of_a_node_that_another_tool_deleted_end",),
        "a client stays throttled by a quota that an operator has deleted",
    ),
    Mutant(
        "mark-before-the-restored-store",
        f"{_PACKAGE}/metadata/backup.py",
        "            os.rename(new, path)\n            sidecar.write(StoreMark(mark.store, last))\n",
        "            sidecar.write(StoreMark(mark.store, last))\n            os.rename(new, path)\n",
        (
            f"{_UNIT}/metadata/test_backup.py"
            "::test_store_that_a_killed_restore_has_set_aside_starts_again_when_it_is_put_back",
            f"{_UNIT}/metadata/test_backup.py"
            "::test_restored_store_starts_when_the_restore_is_killed_before_its_mark_is_written",
        ),
        "no broker starts with the metadata that a killed restore has set aside",
    ),
    Mutant(
        "backup-with-sessions",
        f"{_PACKAGE}/metadata/backup.py",
        '            target.execute("DELETE FROM sessions")\n',
        "",
        (f"{_UNIT}/metadata/test_backup.py::test_backup_of_a_store_in_use_has_neither_sessions_nor_what_they_own",),
        "a restored store has sessions of brokers that never used it",
    ),
    Mutant(
        "static-replacement-without-its-bytes",
        f"{_PACKAGE}/coordinator/group/classic/group.py",
        "        self.holds.change(new.held_bytes - old.held_bytes)\n",
        "",
        (
            f"{_UNIT}/coordinator/test_group_slices.py"
            "::test_static_member_that_replaces_one_with_a_longer_id_gives_back_the_difference",
        ),
        "a group counts bytes of static members that others have replaced, and refuses members without cause",
    ),
    Mutant(
        "new-metadata-without-its-bytes",
        f"{_PACKAGE}/coordinator/group/classic/group.py",
        "        self.holds.change(member.held_bytes - before)\n",
        "",
        (
            f"{_UNIT}/coordinator/test_group_slices.py"
            "::test_static_member_that_comes_back_with_other_metadata_holds_the_bytes_of_that",
        ),
        "groups whose members change their metadata hold bytes that nobody counts, or refuse members without cause",
    ),
    Mutant(
        "key-moves-with-a-new-partition",
        f"{_PACKAGE}/metadata/image.py",
        "self._keys_over.setdefault(topic_id, count)",
        "self._keys_over[topic_id] = len(self.topics_by_id[topic_id].partitions)",
        (
            f"{_UNIT}/replica/test_assigned_metadata.py"
            "::test_store_tells_how_many_partitions_an_internal_topic_has_when_it_is_met",
        ),
        "a group is looked for in a partition that has not its offsets",
    ),
    Mutant(
        "earlier-topic-of-a-deleted-name-stays",
        f"{_PACKAGE}/replica/assigned.py",
        "if (name, topic.topic_id) not in named}",
        "if name not in {one for one, _ in named}}",
        (
            f"{_UNIT}/replica/test_assigned_metadata.py"
            "::test_full_metadata_in_several_requests_takes_away_an_earlier_topic_of_a_name",
            f"{_UNIT}/replica/test_assigned_metadata.py"
            "::test_full_update_that_marks_a_topic_as_deleted_takes_away_an_earlier_one_of_its_name",
        ),
        "a broker tells clients of a topic that is gone",
    ),
    Mutant(
        "topic-of-any-name-from-a-request",
        f"{_PACKAGE}/topic/planner.py",
        "        check_new_topic_name(name)\n",
        "",
        (f"{_NAMES}::test_every_name_that_is_asked_for_is_an_answer_and_no_end[create]",),
        "a request creates a topic whose log no file system takes",
    ),
    Mutant(
        "topic-of-any-name-from-the-store",
        f"{_PACKAGE}/metadata/stored_topics.py",
        "            check_topic_name(name)\n",
        "",
        (
            f"{_NAMES}::test_every_name_that_is_found_leaves_the_others_served[put_nodes_while_it_runs]",
            f"{_NAMES_OF_CLUSTER}[sqlite]",
        ),
        "a node that somebody wrote into the store becomes a topic that nobody can have",
    ),
    Mutant(
        "notice-of-no-name-holds-up-later-ones",
        f"{_PACKAGE}/dynamic_config/changes.py",
        "            except InvalidNodeError:\n                logger.warning(",
        "            except ImportError:\n                logger.warning(",
        (f"{_NAMES_OF_CLUSTER}[sqlite]",),
        "after a notice with a name that no node can have, no change of a configuration reaches the broker",
    ),
    Mutant(
        "staged-directory-with-a-long-name",
        f"{_PACKAGE}/loading/staging.py",
        "topic[: MAX_FILE_NAME - len(tail)] + tail",
        "topic + tail",
        (f"{_NAMES}::test_every_name_is_loaded_or_refused_in_a_sentence",),
        "a topic with a long name cannot be loaded",
    ),
    Mutant(
        "coordinator-before-its-log",
        f"{_PACKAGE}/replica/manager.py",
        "if topic.topic_id not in self.image.topics_by_id:",
        "if False:",
        (
            f"{_UNIT}/replica/test_assigned.py"
            "::test_coordinator_that_begins_while_logs_are_made_gets_partitions_when_they_are_there",
        ),
        "groups stand still whose first request comes while their topic is created",
    ),
    Mutant(
        "node-below-a-mark-taken-for-one",
        f"{_PACKAGE}/metadata/store.py",
        'return "" if "/" in name else name',
        'return name.rpartition("/")[2]',
        (f"{_NAMES}::test_nodes_below_nodes_of_other_topics_are_none",),
        "a node that somebody puts below another topic's deletes or configures a topic",
    ),
)

OF_RUST: Final = (
    Mutant(
        "answer-of-another-request",
        "rust/client/connection.rs",
        "answer.first_chunk() != Some(&self.received.to_be_bytes())",
        "false",
        ("client::dial::tests::an_answer_to_another_request_is_not_taken",),
        "an answer that comes late is taken for that of the next request",
    ),
    Mutant(
        "session-of-a-thousandfold-length",
        "rust/client/dial.rs",
        "it.mul_f64(SESSION_PART)",
        "it.mul_f64(1000.0 * SESSION_PART)",
        ("client::dial::tests::a_connection_is_replaced_after_nine_tenths_of_its_session",),
        "brokers lose each other's connections, with the requests on them, whenever a session of SASL ends",
    ),
    Mutant(
        "flush-without-fsync",
        "rust/storage/flush.rs",
        "log.file\n                .sync_data()\n"
        '                .map_err(|error| Error::io("fsync", &log.path, error))?;',
        "",
        ("storage::flush::tests::what_was_flushed_survives_a_power_loss",),
        "acknowledged records are lost by a power loss",
    ),
    Mutant(
        "flush-without-directory-sync",
        "rust/storage/flush.rs",
        "self.needs_dir && !self.logs.is_empty()",
        "false",
        ("storage::flush::tests::a_flush_of_nothing_counts_no_name_as_synced",),
        "a new segment has no name after a power loss",
    ),
    Mutant(
        "sequence-with-a-gap",
        "rust/storage/producer_state/check.rs",
        "i64::from(sequence) == i64::from(last) + 1 || (sequence == 0 && last == i32::MAX)",
        "i64::from(sequence) > i64::from(last) || (sequence == 0 && last == i32::MAX)",
        ("storage::producer_state::tests::sequences_follow_on_and_wrap",),
        "a batch that overtakes another is appended, and the other is lost",
    ),
    Mutant(
        "retention-above-the-high-watermark",
        "rust/storage/retention.rs",
        "is_empty_active || end > self.high_watermark || !is_old(segment, next)?",
        "is_empty_active || !is_old(segment, next)?",
        ("storage::retention::tests::nothing_that_reaches_above_the_high_watermark_goes",),
        "records are deleted before they are committed",
    ),
    Mutant(
        "append-that-raises-the-high-watermark-wakes-nobody",
        "rust/broker/partition/append.rs",
        "self.waiters().wake_all(WaitKind::Produce);",
        "",
        (
            "broker::partition::tests"
            "::a_lower_minimum_of_replicas_raises_the_high_watermark_and_whoever_publishes_it_wakes",
        ),
        "a produce that all replicas in sync have is answered when its time is up",
    ),
    Mutant(
        "time-that-raises-the-high-watermark-wakes-nobody",
        "rust/broker/partition/leading.rs",
        "if self.publish_offsets(&self.log()) {\n            self.wake_everyone();\n        }",
        "",
        ("broker::partition::tests::produce_is_woken_when_the_follower_that_it_waited_for_has_fallen_behind",),
        "a produce that all replicas in sync have is answered when its time is up",
    ),
    Mutant(
        "cleaner-replaces-before-the-high-watermark-is-on-disk",
        "rust/broker/logs/cleaner/run.rs",
        "cleaner\n                .dirs()\n                "
        ".write_checkpoints(&[Checkpoint::RecoveryPoint, Checkpoint::Replication])?;",
        "",
        (
            "broker::logs::cleaner::tests"
            "::what_is_cleaned_is_durable_and_committed_on_disk_before_the_first_segment_is_replaced",
        ),
        "a scan of the files alone lacks keys whose older records a cleaner has dropped",
    ),
    Mutant(
        "gap-that-a-power-loss-leaves-in-a-compacted-log",
        "rust/storage/recovery.rs",
        "has_holes || is_durable || !self.args.extent.is_listed",
        "true",
        ("storage::recovery::tests::a_segment_that_was_compacted_may_end_before_the_next_one",),
        "a replica lacks committed records in the midst of its log and may lead",
    ),
    Mutant(
        "client-raises-the-epoch-of-the-coordinator",
        "rust/broker/partition/append.rs",
        "asked.coordinator_epoch.min(entry.coordinator_epoch.max(0))",
        "asked.coordinator_epoch",
        ("coordinator::transactions::write_markers::tests::abort_of_a_client_carries_no_epoch_of_the_future",),
        "any client fences the coordinator of a transaction for good",
    ),
    Mutant(
        "refused-commit-counts-as-complete",
        "rust/coordinator/transactions/ends/table.rs",
        "is_commit.then_some(REFUSED_AGAIN_AFTER)",
        "None",
        (
            "coordinator::transactions::ends::tests::remote"
            "::commit_whose_marker_is_refused_for_good_never_counts_as_complete",
        ),
        "a commit is answered with success though its records were aborted",
    ),
    Mutant(
        "gaps-of-a-copied-compacted-log",
        "rust/storage/recovery.rs",
        "has_holes || is_durable || !self.args.extent.is_listed",
        "has_holes || is_durable",
        ("storage::recovery::tests::a_compacted_log_that_was_copied_here_keeps_what_stands_behind_its_gaps",),
        "a compacted log whose directory was copied without the checkpoints loses what stands behind its first gap",
    ),
    Mutant(
        "roll-of-an-unlisted-compacted-log-without-flush",
        "rust/storage/log.rs",
        "self.config().is_compacted && !self.is_listed",
        "false",
        ("storage::roll_tests::a_compacted_log_without_a_recovery_point_is_durable_up_to_its_last_segment",),
        "a power loss leaves a gap in a new compacted log that passes for compaction",
    ),
    Mutant(
        "cleaner-replaces-what-is-not-durable",
        "rust/broker/logs/cleaner/run.rs",
        "self.partition.flush()?;",
        "",
        (
            "broker::logs::cleaner::tests"
            "::what_is_cleaned_is_durable_and_committed_on_disk_before_the_first_segment_is_replaced",
        ),
        "a start cannot tell the gaps of a cleaner from lost records",
    ),
    Mutant(
        "files-alone-are-planned-once-though-a-cleaner-passed",
        "rust/scan/plan.rs",
        "now != committed",
        "false",
        ("scan::plan::tests::a_plan_of_files_begins_anew_when_a_cleaner_may_have_passed_its_end",),
        "a scan of the files alone lacks keys whose older records a cleaner has dropped",
    ),
    Mutant(
        "spark-reads-what-a-cleaner-passed",
        "rust/planner/planning.rs",
        "matches!(&self.way, ReadMethod::Files(plan) if plan.is_overtaken)",
        "false",
        (
            "planner::planning::tests"
            "::a_partition_that_a_cleaner_may_have_passed_is_planned_anew_until_its_end_stands_still",
        ),
        "a query of Spark lacks keys whose older records a cleaner has dropped",
    ),
    Mutant(
        "client-of-another-leader-epoch",
        "rust/broker/partition/lease.rs",
        "current_leader_epoch.is_none() || current_leader_epoch == self.leader_epoch",
        "true",
        ("broker::partition::lease::tests::a_client_with_another_epoch_gets_fenced_or_unknown_leader_epoch",),
        "a consumer does not notice that the log was truncated",
    ),
    Mutant(
        "high-watermark-below-the-minimum",
        "rust/broker/partition/followers.rs",
        "self.in_sync.len() < min_in_sync.min(self.others.len() + 1)",
        "false",
        ("broker::partition::followers::tests::high_watermark_waits_while_the_set_is_below_the_minimum",),
        "records are committed on fewer replicas than min.insync.replicas",
    ),
    Mutant(
        "in-sync-one-below-the-high-watermark",
        "rust/broker/partition/followers.rs",
        "end < high_watermark || end < self.epoch_start",
        "end + 1 < high_watermark || end < self.epoch_start",
        ("broker::partition::followers::tests::follower_joins_at_the_high_watermark_and_the_epochs_start",),
        "a replica that lacks a committed record may be elected",
    ),
    Mutant(
        "fetch-of-an-earlier-life",
        "rust/broker/partition/followers.rs",
        "fetch.broker_epoch >= 0 && fetch.broker_epoch < f.broker_epoch",
        "false",
        ("broker::partition::followers::tests::late_fetch_with_a_stale_broker_or_leader_epoch_is_not_noted",),
        "records count as replicated that a follower has lost by its restart",
    ),
    Mutant(
        "checksum-not-checked",
        "rust/record/validate.rs",
        "Ok(batch.verify_crc()?)",
        "Ok(())",
        ("record::validate::tests::a_wrong_crc_is_corrupt_for_everyone",),
        "a batch that was damaged on its way is appended",
    ),
    Mutant(
        "lookup-one-entry-early",
        "rust/index/offset_index.rs",
        "key(index) > relative",
        "key(index) >= relative",
        ("index::tests::offset_lookup_matches_naive_active_and_sealed",),
        "an offset that has an entry of its own is looked up in the entry before",
    ),
    Mutant(
        "commit-of-another-generation",
        "rust/coordinator/lease.rs",
        "            if claim.generation_id != self.generation_id {\n"
        "                return Err(ErrorCode::ILLEGAL_GENERATION);\n            }",
        "",
        ("coordinator::offset_commit::tests::a_living_group_takes_commits_of_its_members_in_their_generation_alone",),
        "a member that missed a rebalance moves offsets of partitions that others have",
    ),
    Mutant(
        "count-beyond-the-request",
        "rust/protocol/reader.rs",
        "count > self.remaining() / min_element_bytes.max(1)",
        "false",
        ("protocol::reader::tests::count_fits_the_bytes_that_remain",),
        "a request of a few bytes has memory reserved for a billion elements",
    ),
    Mutant(
        "one-connection-too-many",
        "rust/net/limits.rs",
        "counts.all >= options.max",
        "counts.all > options.max",
        ("net::limits::tests::all_connections_together_are_limited",),
        "more connections than max.connections are open",
    ),
    Mutant(
        "session-epoch-wraps-to-0",
        "rust/broker/replication/replica_fetcher.rs",
        "match (response.session_id, self.session_epoch) {\n"
        "            (0, _) => 0,\n"
        "            (_, i32::MAX) => 1,\n"
        "            (_, epoch) => epoch + 1,\n"
        "        }",
        "match (response.session_id, self.session_epoch) {\n"
        "            (0, _) => 0,\n"
        "            (_, i32::MAX) => 0,\n"
        "            (_, epoch) => epoch + 1,\n"
        "        }",
        ("broker::replication::replica_fetcher::tests::session_goes_on_with_epoch_1_after_the_greatest",),
        "an old session of a follower is replaced by one without most of its partitions, which lag from then on",
    ),
    Mutant(
        "held-back-without-a-new-timer",
        "rust/net/held_back.rs",
        "self.set_if_held_back(reference, connections, now);",
        "",
        ("net::held_back::tests::connection_whose_time_was_extended_while_its_timer_ran_gets_a_new_timer",),
        "a client that is over two quotas is never answered again",
    ),
    Mutant(
        "caught-up-now-by-the-fetch-before",
        "rust/broker/partition/followers.rs",
        "self.caught_up_at.max(Some(self.fetched_at))",
        "self.caught_up_at.max(Some(now))",
        (
            "broker::partition::followers::tests"
            "::follower_that_fetches_too_seldom_leaves_though_it_reaches_the_end_of_its_previous_fetch",
        ),
        "acks=all waits for a follower that is always more than replica.lag.time.max.ms behind",
    ),
    Mutant(
        "used-id-forgotten",
        "rust/coordinator/transactions/expiry.rs",
        "ids.iter().filter(is_still).cloned().collect()",
        "ids.to_vec()",
        ("coordinator::transactions::expiry::tests::id_that_is_used_again_after_it_was_found_expired_is_kept",),
        "a producer that has just begun is unknown at its first transaction",
    ),
    Mutant(
        "swap-without-directory-sync",
        "rust/storage/cleaner/swap.rs",
        "let synced = self.fs.sync_dir(&self.dir);\n"
        '        synced.map_err(|error| Error::io("fsync", &self.dir, error))?;',
        "",
        ("storage::cleaner::tests::faults::replaced_files_stay_when_the_names_of_the_new_ones_cannot_be_synced",),
        "a power loss after a cleaning takes the old segment and the new one",
    ),
    Mutant(
        "group-in-a-transaction-not-kept",
        "rust/coordinator/removal.rs",
        "!pending.is_empty() || offsets.has_unstable()",
        "!pending.is_empty()",
        ("coordinator::removal::tests::a_group_whose_only_offset_is_in_an_open_transaction_is_kept_until_its_end",),
        "a group is deleted while a transaction is about to commit its first offset",
    ),
    Mutant(
        "log-anew-without-its-offsets",
        "rust/broker/partition/following.rs",
        "self.log.truncate_fully_and_start_at(offset)?;\n        self.partition.publish_offsets(&self.log);",
        "self.log.truncate_fully_and_start_at(offset)?;",
        ("broker::partition::tests::log_that_starts_anew_has_its_high_watermark_at_its_start",),
        "a follower that started its log anew tells readers the offsets of the old one",
    ),
    Mutant(
        "rewritten-segment-not-durable",
        "rust/broker/logs/cleaner/run.rs",
        "self.partition.log().recovery_point() < cleaning.reach()",
        "self.partition.log().recovery_point() < cleaning.end()",
        (
            "broker::logs::cleaner::tests::segment_of_which_a_part_is_flushed_is_durable_before_it_is_replaced"
            "_though_the_map_of_keys_is_full",
        ),
        "a start after a power loss cuts a log at the gap that a cleaning made",
    ),
    Mutant(
        "loaded-transactions-served-before-they-are-replicated",
        "rust/coordinator/transactions/service.rs",
        "self.waits_for_replicas()",
        "false",
        ("coordinator::transactions::loading::tests::what_was_loaded_is_served_and_ended_once_it_is_on_all_replicas",),
        "a transaction hangs whose coordinator died before others had its records",
    ),
    Mutant(
        "loaded-offsets-told-before-they-are-replicated",
        "rust/coordinator/offset_fetch.rs",
        "home.waits_for_replicas()",
        "false",
        ("coordinator::offset_fetch::tests::offsets_that_were_loaded_are_told_once_they_are_on_all_replicas",),
        "a committed offset goes back when the coordinator dies",
    ),
)

MUTANTS: Final = (*OF_PYTHON, *OF_RUST)
