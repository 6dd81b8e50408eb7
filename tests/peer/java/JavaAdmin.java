import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The admin client, one operation a call. */
final class JavaAdmin {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    static JsonNode call(String name, JsonNode request) throws Exception {
        try (Admin admin = Admin.create(JavaClient.config(request))) {
            switch (name) {
                case "createTopic": return createTopic(admin, request);
                case "createPartitions": return createPartitions(admin, request);
                case "deleteTopic": admin.deleteTopics(List.of(topic(request))).all().get(); return NODES.nullNode();
                case "listTopics": return strings(new TreeSet<>(admin.listTopics().names().get()));
                case "describeTopic": return describeTopic(admin, request);
                case "setConfig": return setConfig(admin, request);
                case "describeConfig": return describeConfig(admin, request);
                case "deleteRecords": return deleteRecords(admin, request);
                case "listOffsets": return listOffsets(admin, request);
                case "describeCluster": return describeCluster(admin);
                case "describeLogDirs": return describeLogDirs(admin);
                case "listGroups": return listGroups(admin);
                case "describeGroup": return describeGroup(admin, request);
                case "groupOffsets": return groupOffsets(admin, request);
                case "setGroupOffset": return setGroupOffset(admin, request);
                case "fenceProducer":
                    admin.fenceProducers(List.of(request.get("transactional_id").asText())).all().get();
                    return NODES.nullNode();
                case "forceTerminateTransaction":
                    admin.forceTerminateTransaction(request.get("transactional_id").asText()).result().get();
                    return NODES.nullNode();
                case "deleteGroup":
                    admin.deleteConsumerGroups(List.of(request.get("group").asText())).all().get();
                    return NODES.nullNode();
                default: throw new IllegalArgumentException("no such call: " + name);
            }
        }
    }

    private static String topic(JsonNode request) {
        return request.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode request) {
        return new TopicPartition(topic(request), request.path("partition").asInt(0));
    }

    private static ConfigResource resource(JsonNode request) {
        return request.has("broker") ? new ConfigResource(ConfigResource.Type.BROKER, request.get("broker").asText())
            : new ConfigResource(ConfigResource.Type.TOPIC, topic(request));
    }

    private static ArrayNode strings(Set<String> texts) {
        ArrayNode array = NODES.arrayNode();
        texts.forEach(array::add);
        return array;
    }

    private static JsonNode createTopic(Admin admin, JsonNode request) throws Exception {
        Optional<Integer> partitions = Optional.of(request.path("partitions").asInt(1));
        NewTopic topic = new NewTopic(topic(request), partitions, Optional.empty());
        Map<String, String> configs = new HashMap<>();
        request.path("configs").fields()
            .forEachRemaining(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        admin.createTopics(List.of(topic.configs(configs))).all().get();
        return NODES.nullNode();
    }

    private static JsonNode createPartitions(Admin admin, JsonNode request) throws Exception {
        NewPartitions partitions = NewPartitions.increaseTo(request.get("partitions").asInt());
        admin.createPartitions(Map.of(topic(request), partitions)).all().get();
        return NODES.nullNode();
    }

    private static JsonNode describeTopic(Admin admin, JsonNode request) throws Exception {
        TopicDescription description =
            admin.describeTopics(List.of(topic(request))).allTopicNames().get().get(topic(request));
        ObjectNode node = NODES.objectNode();
        node.put("partitions", description.partitions().size()).put("internal", description.isInternal());
        node.put("id", description.topicId().toString()).put("leader", description.partitions().get(0).leader().id());
        return node;
    }

    private static JsonNode setConfig(Admin admin, JsonNode request) throws Exception {
        JsonNode value = request.get("value");
        AlterConfigOp.OpType operation = value.isNull() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
        ConfigEntry entry = new ConfigEntry(request.get("name").asText(), value.isNull() ? null : value.asText());
        List<AlterConfigOp> operations = List.of(new AlterConfigOp(entry, operation));
        admin.incrementalAlterConfigs(Map.of(resource(request), operations)).all().get();
        return NODES.nullNode();
    }

    private static JsonNode describeConfig(Admin admin, JsonNode request) throws Exception {
        Config config = admin.describeConfigs(List.of(resource(request))).all().get().get(resource(request));
        ObjectNode node = NODES.objectNode();
        config.entries().forEach(entry ->
            node.putObject(entry.name()).put("value", entry.value()).put("source", entry.source().name()));
        return node;
    }

    private static JsonNode deleteRecords(Admin admin, JsonNode request) throws Exception {
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("before").asLong());
        TopicPartition partition = partition(request);
        return NODES.numberNode(
            admin.deleteRecords(Map.of(partition, before)).lowWatermarks().get(partition).get().lowWatermark());
    }

    private static JsonNode listOffsets(Admin admin, JsonNode request) throws Exception {
        OffsetSpec spec = switch (request.get("spec").asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max_timestamp" -> OffsetSpec.maxTimestamp();
            case "earliest_local" -> OffsetSpec.earliestLocal();
            case "latest_tiered" -> OffsetSpec.latestTiered();
            default -> OffsetSpec.forTimestamp(request.get("spec").asLong());
        };
        ListOffsetsResultInfo found =
            admin.listOffsets(Map.of(partition(request), spec)).partitionResult(partition(request)).get();
        ObjectNode node = NODES.objectNode();
        node.put("offset", found.offset()).put("timestamp", found.timestamp());
        return node;
    }

    private static JsonNode describeCluster(Admin admin) throws Exception {
        ObjectNode node = NODES.objectNode();
        node.put("brokers", admin.describeCluster().nodes().get().size());
        node.put("cluster_id", admin.describeCluster().clusterId().get());
        node.put("controller", admin.describeCluster().controller().get().id());
        return node;
    }

    private static JsonNode describeLogDirs(Admin admin) throws Exception {
        ObjectNode node = NODES.objectNode();
        admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).forEach((path, description) -> {
            ObjectNode sizes = node.putObject(path);
            description.replicaInfos().forEach((partition, info) -> sizes.put(partition.toString(), info.size()));
        });
        return node;
    }

    private static JsonNode listGroups(Admin admin) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        for (GroupListing group : admin.listGroups().all().get()) {
            names.add(group.groupId());
        }
        return strings(names);
    }

    private static JsonNode describeGroup(Admin admin, JsonNode request) throws Exception {
        String group = request.get("group").asText();
        var description = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        ObjectNode node = NODES.objectNode();
        node.put("state", description.groupState().toString()).put("members", description.members().size());
        node.put("assignor", description.partitionAssignor()).put("coordinator", description.coordinator().id());
        return node;
    }

    private static JsonNode groupOffsets(Admin admin, JsonNode request) throws Exception {
        ObjectNode node = NODES.objectNode();
        admin.listConsumerGroupOffsets(request.get("group").asText()).partitionsToOffsetAndMetadata().get()
            .forEach((partition, offset) -> node.put(partition.toString(), offset.offset()));
        return node;
    }

    private static JsonNode setGroupOffset(Admin admin, JsonNode request) throws Exception {
        OffsetAndMetadata offset = new OffsetAndMetadata(request.get("offset").asLong());
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(partition(request), offset);
        admin.alterConsumerGroupOffsets(request.get("group").asText(), offsets).all().get();
        return NODES.nullNode();
    }

    private JavaAdmin() { }
}
