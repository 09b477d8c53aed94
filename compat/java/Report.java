import com.azure.cosmos.CosmosException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Objects;

/** Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story. */
final class Report {
    interface Step {
        void run() throws Exception;
    }

    static void step(String name, Step step) {
        ObjectNode outcome = new ObjectMapper().createObjectNode().put("step", name);
        try {
            step.run();
            outcome.put("ok", true);
        } catch (CosmosException error) {
            outcome.put("ok", false).put("why", error.getStatusCode() + ": " + error.getShortMessage());
        } catch (Throwable error) {
            outcome.put("ok", false).put("why", error.toString());
        }
        System.out.println(outcome);
    }

    /** The client has no call for this step. */
    static void absent(String name, String why) {
        System.out.println(new ObjectMapper().createObjectNode().put("step", name).put("absent", why));
    }

    static void equal(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " instead of " + expected);
    }

    /** The status that the service refuses a call with. */
    static int refusal(Step call) throws Exception {
        try {
            call.run();
            return 0;
        } catch (CosmosException error) {
            return error.getStatusCode();
        }
    }
}
