import com.mongodb.MongoException;
import java.util.Objects;
import org.bson.Document;

/** Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story. */
final class Report {
    interface Step {
        void run() throws Exception;
    }

    static void step(String name, Step step) {
        Document outcome = new Document("step", name);
        try {
            step.run();
            outcome.append("ok", true);
        } catch (MongoException error) {
            outcome.append("ok", false).append("why", error.getCode() + ": " + error.getMessage());
        } catch (Throwable error) {
            outcome.append("ok", false).append("why", error.toString());
        }
        System.out.println(outcome.toJson());
    }

    static void equal(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " instead of " + expected);
    }

    /** The code that the server refuses a call with. */
    static int refusal(Step call) throws Exception {
        try {
            call.run();
            return 0;
        } catch (MongoException error) {
            return error.getCode();
        }
    }
}
