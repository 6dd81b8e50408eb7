import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A group of Java consumers that grows and shrinks; each member polls in a thread of its own. */
final class JavaGroup {
    private static final long LIMIT_MS = 40_000;

    private static final class Member extends Thread {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final String topic;
        private volatile boolean leaving;
        private volatile Set<Integer> owned = Set.of();
        volatile Throwable failure;

        Member(Map<String, Object> config, String topic) {
            this.consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            this.topic = topic;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try (consumer) {
                consumer.subscribe(List.of(topic));
                while (!leaving) {
                    consumer.poll(Duration.ofMillis(50));
                    owned = consumer.assignment().stream()
                        .map(TopicPartition::partition).collect(Collectors.toCollection(TreeSet::new));
                }
            } catch (Throwable thrown) {
                failure = thrown;
            }
            owned = Set.of();
        }

        void leave() throws InterruptedException {
            leaving = true;
            join(LIMIT_MS);
        }
    }

    /**
     * Two members, then three, then one of them leaves; returns how many partitions each member owned at each of the
     * three stages.
     */
    static JsonNode rebalance(JsonNode request) throws Exception {
        String topic = request.get("topic").asText();
        int partitions = request.get("partitions").asInt();
        List<Member> members = new CopyOnWriteArrayList<>();
        ArrayNode stages = JsonNodeFactory.instance.arrayNode();
        try {
            for (int size : new int[] {2, 3}) {
                while (members.size() < size) {
                    members.add(new Member(JavaClient.config(request), topic));
                }
                stages.add(settled(members, partitions));
            }
            members.remove(0).leave();
            stages.add(settled(members, partitions));
            return stages;
        } finally {
            for (Member member : members) {
                member.leave();
            }
        }
    }

    /** Waits until every partition has one owner and every member owns some. */
    private static ArrayNode settled(List<Member> members, int partitions) throws Exception {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (System.currentTimeMillis() < deadline) {
            List<Integer> all = new ArrayList<>();
            ArrayNode sizes = JsonNodeFactory.instance.arrayNode();
            for (Member member : members) {
                if (member.failure != null) {
                    throw new IllegalStateException(member.failure);
                }
                Set<Integer> owned = member.owned;
                all.addAll(owned);
                sizes.add(owned.size());
            }
            boolean everyOneOwns = members.stream().noneMatch(member -> member.owned.isEmpty());
            if (everyOneOwns && all.size() == partitions && new TreeSet<>(all).size() == partitions) {
                return sizes;
            }
            Thread.sleep(20);
        }
        throw new IllegalStateException("the group of " + members.size() + " did not settle in " + LIMIT_MS + " ms");
    }

    private JavaGroup() { }
}
