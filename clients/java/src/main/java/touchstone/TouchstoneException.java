package touchstone;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A call without an answer: the service refused it, or the call did not reach it. A policy's decision is never an
 * exception: the answer carries it.
 */
public class TouchstoneException extends StatusRuntimeException {
  private static final long serialVersionUID = 1;
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final transient Details details;

  private TouchstoneException(Status status, Metadata trailers, Details details) {
    super(status, trailers);
    this.details = details;
  }

  /** Makes an exception from what a stub of gRPC threw. Each status below has a class of its own. */
  public static TouchstoneException of(Throwable error) {
    if (error instanceof TouchstoneException) {
      return (TouchstoneException) error;
    }
    Status status = Status.fromThrowable(error);
    Metadata trailers = Status.trailersFromThrowable(error);
    Details details = Details.of(trailers == null ? null : trailers.get(DETAILS));
    switch (status.getCode()) {
      case UNAUTHENTICATED:
        return new Unauthenticated(status, trailers, details);
      case PERMISSION_DENIED:
        return new PermissionDenied(status, trailers, details);
      case INVALID_ARGUMENT:
        return new InvalidArgument(status, trailers, details);
      case FAILED_PRECONDITION:
        return new FailedPrecondition(status, trailers, details);
      case NOT_FOUND:
        return new NotFound(status, trailers, details);
      case OUT_OF_RANGE:
        return new OutOfRange(status, trailers, details);
      case ABORTED:
        return new Aborted(status, trailers, details);
      case UNAVAILABLE:
        return new Unavailable(status, trailers, details);
      case RESOURCE_EXHAUSTED:
        return new ResourceExhausted(status, trailers, details);
      case DEADLINE_EXCEEDED:
        return new DeadlineExceeded(status, trailers, details);
      default:
        return new TouchstoneException(status, trailers, details);
    }
  }

  public Status.Code getCode() {
    return getStatus().getCode();
  }

  /** The cause, for a program: upper snake case, never changed; empty if the service gave none (ErrorInfo). */
  public String getReason() {
    return details.reason;
  }

  /** The data that the reason comes with: {@code first_sequence} and so on. */
  public Map<String, String> getMetadata() {
    return Collections.unmodifiableMap(details.metadata);
  }

  /** The fault of each wrong field, by its path: {@code posture.domain_state} (BadRequest). */
  public Map<String, String> getFields() {
    return Collections.unmodifiableMap(details.fields);
  }

  /** The time to wait before the next try (RetryInfo). */
  public Optional<Duration> getRetryAfter() {
    return Optional.ofNullable(details.retryAfter);
  }

  /** The limits that were reached, and whose they are: {@code application:shop} (QuotaFailure). */
  public List<String> getQuotas() {
    return Collections.unmodifiableList(details.quotas);
  }

  /**
   * A text for the person, if the refusal concerns them, in the language of the call; otherwise empty
   * (LocalizedMessage).
   */
  public String getText() {
    return details.text;
  }

  /** A text in English for developers, with code, reason and wrong fields. */
  @Override
  public String getMessage() {
    String description = getStatus().getDescription() == null ? "" : getStatus().getDescription();
    StringBuilder message = new StringBuilder(getCode().name());
    if (!getReason().isEmpty()) {
      message.append(" (").append(getReason()).append(")");
    }
    message.append(": ").append(description);
    details.fields.forEach((field, problem) -> {
      // The service's message names the first wrong fields, too.
      if (!description.contains(field + ": " + problem)) {
        message.append("; ").append(field).append(": ").append(problem);
      }
    });
    return message.toString();
  }

  /**
   * The first detail of each kind in a google.rpc.Status. It is read by the fields' numbers, because the classes of
   * google.rpc that a program has may be older than ErrorInfo.
   */
  private static final class Details {
    private static final List<String> KINDS = List.of(
        "google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.rpc.RetryInfo", "google.rpc.QuotaFailure",
        "google.rpc.LocalizedMessage");

    private String reason = "";
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private final Map<String, String> fields = new LinkedHashMap<>();
    private Duration retryAfter;
    private final List<String> quotas = new ArrayList<>();
    private String text = "";

    /** Unreadable details are treated as absent: code and message stay. */
    static Details of(byte[] status) {
      try {
        Details details = new Details();
        if (status != null) {
          details.read(UnknownFieldSet.parseFrom(status));
        }
        return details;
      } catch (InvalidProtocolBufferException | ArithmeticException unreadable) {
        return new Details();
      }
    }

    private void read(UnknownFieldSet status) throws InvalidProtocolBufferException {
      Set<String> read = new HashSet<>();
      for (UnknownFieldSet any : messages(status, 3)) {
        String type = text(any, 1).substring(text(any, 1).lastIndexOf('/') + 1);
        if (KINDS.contains(type) && read.add(type)) {
          add(type, UnknownFieldSet.parseFrom(bytes(any, 2)));
        }
      }
    }

    private void add(String type, UnknownFieldSet detail) throws InvalidProtocolBufferException {
      switch (type) {
        case "google.rpc.ErrorInfo":
          reason = text(detail, 1);
          putAll(metadata, messages(detail, 3));
          break;
        case "google.rpc.BadRequest":
          putAll(fields, messages(detail, 1));
          break;
        case "google.rpc.RetryInfo":
          for (UnknownFieldSet delay : messages(detail, 1)) {
            retryAfter = Duration.ofSeconds(number(delay, 1), number(delay, 2));
          }
          break;
        case "google.rpc.QuotaFailure":
          for (UnknownFieldSet violation : messages(detail, 1)) {
            quotas.add(text(violation, 1));
          }
          break;
        default:
          text = text(detail, 2);
      }
    }

    private static void putAll(Map<String, String> map, List<UnknownFieldSet> pairs) {
      for (UnknownFieldSet pair : pairs) {
        map.put(text(pair, 1), text(pair, 2));
      }
    }

    private static List<UnknownFieldSet> messages(UnknownFieldSet message, int number) throws InvalidProtocolBufferException {
      List<UnknownFieldSet> found = new ArrayList<>();
      for (ByteString bytes : message.getField(number).getLengthDelimitedList()) {
        found.add(UnknownFieldSet.parseFrom(bytes));
      }
      return found;
    }

    private static ByteString bytes(UnknownFieldSet message, int number) {
      List<ByteString> values = message.getField(number).getLengthDelimitedList();
      return values.isEmpty() ? ByteString.EMPTY : values.get(values.size() - 1);
    }

    private static String text(UnknownFieldSet message, int number) {
      return bytes(message, number).toStringUtf8();
    }

    private static long number(UnknownFieldSet message, int number) {
      Field field = message.getField(number);
      return field.getVarintList().isEmpty() ? 0 : field.getVarintList().get(field.getVarintList().size() - 1);
    }
  }

  /** The credentials belong to no known caller. */
  public static final class Unauthenticated extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private Unauthenticated(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** The caller is not granted the method or the application. */
  public static final class PermissionDenied extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private PermissionDenied(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** Fields are wrong or missing: {@code getFields} names them. */
  public static final class InvalidArgument extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private InvalidArgument(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** The present state does not allow the call: {@code getReason} says why. */
  public static final class FailedPrecondition extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private FailedPrecondition(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** The object is unknown, or another application's. */
  public static final class NotFound extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private NotFound(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** The audit log does not have the place: EVENTS_ARCHIVED or BEYOND_LOG_END. */
  public static final class OutOfRange extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private OutOfRange(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** Too many calls changed one record at once. Nothing was done. */
  public static final class Aborted extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private Aborted(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** The service cannot take the call now, or is out of reach. */
  public static final class Unavailable extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private Unavailable(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** A limit was reached: {@code getQuotas} names it. */
  public static final class ResourceExhausted extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private ResourceExhausted(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }

  /** No answer came in time. The call may have had its effect. */
  public static final class DeadlineExceeded extends TouchstoneException {
    private static final long serialVersionUID = 1;

    private DeadlineExceeded(Status status, Metadata trailers, Details details) {
      super(status, trailers, details);
    }
  }
}
