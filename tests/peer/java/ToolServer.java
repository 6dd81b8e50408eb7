import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's own command line tools, and the calls of {@link JavaClient}, one after the other in one JVM: a start of
 * a JVM costs a second of CPU, a call here some milliseconds. One JSON object a line in, one a line out:
 *
 * <pre>
 * {"tool": "org.apache.kafka.tools.TopicCommand", "args": [...], "stdin": "..."}
 *   -> {"exit": 0, "out": "...", "err": "..."}
 * {"call": "produce", ...arguments...}
 *   -> {"result": ...} or {"error": "Class: text"}
 * </pre>
 */
public final class ToolServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What the running tool exited with first: some tools catch what we throw, and exit again with 1. */
    private static Integer firstStatus;

    /** Thrown in place of ending the JVM. */
    private static final class ExitException extends RuntimeException {
        ExitException(int status) {
            super("exit " + status, null, false, false);
            firstStatus = firstStatus == null ? status : firstStatus;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> { throw new ExitException(status); });
        Exit.setHaltProcedure((status, message) -> { throw new ExitException(status); });
        Exit.setShutdownHookAdder((name, hook) -> { });
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = request.has("tool") ? runTool(request) : JavaClient.run(request);
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private static ObjectNode runTool(JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream savedOut = System.out;
        PrintStream savedErr = System.err;
        java.io.InputStream savedIn = System.in;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(request.path("stdin").asText("").getBytes(StandardCharsets.UTF_8)));
        int status = 0;
        firstStatus = null;
        try {
            Class.forName(request.get("tool").asText())
                .getMethod("main", String[].class).invoke(null, (Object) args.toArray(new String[0]));
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof ExitException) {
                status = firstStatus;
            } else {
                status = 1;
                StringWriter trace = new StringWriter();
                thrown.getCause().printStackTrace(new PrintWriter(trace));
                err.writeBytes(trace.toString().getBytes(StandardCharsets.UTF_8));
            }
        } finally {
            System.out.flush();
            System.setOut(savedOut);
            System.setErr(savedErr);
            System.setIn(savedIn);
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.put("exit", status);
        answer.put("out", out.toString(StandardCharsets.UTF_8));
        answer.put("err", err.toString(StandardCharsets.UTF_8));
        return answer;
    }

    private ToolServer() { }
}
