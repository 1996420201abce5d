package touchstone.kit;

import java.util.List;

/**
 * What the app's backend relays of an answer of the service, whichever call it answers: fields that the call does not
 * have stay as they are. The names are the API's, so that a JSON library can fill it by its fields.
 */
public final class Answer {
  /** Of BeginBinding and BeginEvaluation: {@code ticket} or {@code evaluation}, which the backend may keep itself. */
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
  /** The texts of {@code presentation}. {@code fallback_visible} is not among them: see {@link Phone.Request#button}. */
  public String localizedReason = "";
  public String fallbackTitle = "";
  public String cancelTitle = "";
  /** Of SubmitAttempt. */
  public String outcome = "";
  public int laError;
  public String messageLocale = "";
  public String messageText = "";
  public String profileId = "";
  public String token = "";
  /** Of CompleteBinding: {@code binding.binding_id}. */
  public String bindingId = "";
}
