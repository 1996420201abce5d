package touchstone.kit;

import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * An answer of the service, to any call, as the app's backend relays it: fields that the call does not have stay as
 * they are. The names are the API's, so that a JSON library can fill it by its fields.
 */
public final class Answer {
  /** {@code ticket} of BeginBinding or {@code evaluation} of BeginEvaluation, which the backend may keep itself. */
  public byte[] handle = {};
  public byte[] signingInput = {};
  /** {@code challenge} of BeginBinding; null if the backend does not relay it. The signing input must have the same. */
  public byte[] challenge;
  /** {@code expires_at}, in seconds since 1970. */
  public long expiresAt;
  /** {@code denial.reason}, empty without a denial. */
  public String denial = "";
  /** {@code retry_after} of the answer or of its denial, in seconds. */
  public double retryAfter;
  public String domainState = "";
  public List<String> factors = List.of();
  public List<String> nextFactors = List.of();
  public List<String> advisories = List.of();
  /** The texts of {@code presentation}, without {@code fallback_visible}: see {@link Phone.Request#button}. */
  public String localizedReason = "";
  public String fallbackTitle = "";
  public String cancelTitle = "";
  /** {@code outcome} of SubmitAttempt, as the next fields are. */
  public String outcome = "";
  public int laError;
  /** {@code message} of the answer or of its denial. */
  public String messageLocale = "";
  public String messageText = "";
  public String profileId = "";
  public String token = "";
  /** {@code binding.binding_id} of CompleteBinding. */
  public String bindingId = "";

  /** Takes a null, which a JSON library leaves for null, as a field that is absent. */
  Answer withoutNulls() {
    handle = handle == null ? new byte[0] : handle;
    signingInput = signingInput == null ? new byte[0] : signingInput;
    denial = text(denial);
    domainState = text(domainState);
    factors = texts(factors);
    nextFactors = texts(nextFactors);
    advisories = texts(advisories);
    localizedReason = text(localizedReason);
    fallbackTitle = text(fallbackTitle);
    cancelTitle = text(cancelTitle);
    outcome = text(outcome);
    messageLocale = text(messageLocale);
    messageText = text(messageText);
    profileId = text(profileId);
    token = text(token);
    bindingId = text(bindingId);
    return this;
  }

  private static String text(String text) {
    return Objects.toString(text, "");
  }

  private static List<String> texts(List<String> texts) {
    return texts == null ? List.of() : texts.stream().filter(Objects::nonNull).collect(Collectors.toUnmodifiableList());
  }
}
