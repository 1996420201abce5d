package touchstone.kit;

import java.util.Arrays;
import java.util.List;

/**
 * The bytes that a key is to sign, taken apart. The signature approves this content, so the app signs no other one
 * (docs/SIGNING.md).
 */
public final class SigningInput {
  /** The limit is above any that the service makes: a payment with the longest texts has 1,100 bytes. */
  private static final int MOST_BYTES = 4096;

  public final byte[] bytes;
  public final byte[] challenge;
  public final String application;
  /** The evaluation's policy; null for a binding. */
  public String policy;
  /** The payment; null for a login and a binding. */
  public Transaction transaction;
  private final List<byte[]> fields;

  private SigningInput(byte[] bytes, String tag, int count, String application, String... own) {
    KitException.require(bytes.length <= MOST_BYTES, "too-long");
    this.bytes = bytes.clone();
    fields = Fields.read(bytes, tag, count);
    challenge = fields.get(1);
    KitException.require(challenge.length == 32, "wrong-challenge-length");
    this.application = Fields.text(fields.get(2));
    String[] texts = {Fields.text(fields.get(3)), Fields.text(fields.get(4))};
    KitException.require(this.application.equals(application), "other-application");
    for (int i = 0; i < own.length; i += 2) {
      KitException.require(texts[i / 2].equals(own[i + 1]), own[i]);
    }
  }

  /**
   * Takes a ticket's signing input apart, for new keys of this device.
   *
   * @param challenge the ticket's, if the app knows it; otherwise null.
   */
  public static SigningInput ofBinding(byte[] bytes, String application, String profile, String device, byte[] challenge) {
    SigningInput input = new SigningInput(
        bytes, "touchstone binding v1", 5, application, "other-profile", profile, "other-device", device);
    return input.require(challenge);
  }

  /**
   * Takes an evaluation's signing input apart, for this binding.
   *
   * @param policy the policy that the app asked for.
   * @param challenge the one of an earlier attempt at the same evaluation; null if there was none.
   * @param shown the payment that the person just saw; null for a login.
   */
  public static SigningInput ofEvaluation(
      byte[] bytes, String application, String binding, String policy, byte[] challenge, Transaction shown) {
    SigningInput input = new SigningInput(
        bytes, "touchstone evaluation v1", 7, application, "other-binding", binding, "other-policy", policy).require(challenge);
    input.policy = policy;
    byte[] purpose = input.fields.get(5);
    byte[] transaction = input.fields.get(6);
    KitException.require(purpose.length == 1 && (purpose[0] == 1 || purpose[0] == 2), "unknown-purpose");
    if (purpose[0] == 1) {
      KitException.require(transaction.length == 0, "transaction-in-login");
      KitException.require(shown == null, "not-a-payment");
      return input;
    }
    input.transaction = Transaction.read(transaction);
    KitException.require(shown != null, "transaction-not-shown");
    KitException.require(input.transaction.digest().equals(shown.digest()), "other-transaction");
    return input;
  }

  private SigningInput require(byte[] challenge) {
    KitException.require(challenge == null || Arrays.equals(this.challenge, challenge), "other-challenge");
    return this;
  }
}
