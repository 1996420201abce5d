package touchstone.kit;

import java.util.Arrays;
import java.util.List;

/** What a key is to sign, taken apart. The signature approves this content, so that no other is signed (docs/SIGNING.md). */
public final class SigningInput {
  /** More than any that the service makes: a payment with the longest texts has 1,100 bytes. */
  private static final int MOST_BYTES = 4096;

  public final byte[] bytes;
  public final byte[] challenge;
  public final String application;
  /** Of a binding: whose it is and of which device. Otherwise null. */
  public final String profile;
  public final String device;
  /** Of an evaluation. Otherwise null. */
  public final String binding;
  public final String policy;
  /** Of a payment. Otherwise null. */
  public final Transaction transaction;

  private SigningInput(byte[] bytes, String tag, int count) {
    KitException.require(bytes.length <= MOST_BYTES, "too-long");
    List<byte[]> fields = Fields.read(bytes, tag, count);
    KitException.require(fields.get(1).length == 32, "wrong-challenge-length");
    boolean isEvaluation = count == 7;
    String third = Fields.text(fields.get(3));
    String fourth = Fields.text(fields.get(4));
    this.bytes = bytes;
    challenge = fields.get(1);
    application = Fields.text(fields.get(2));
    profile = isEvaluation ? null : third;
    device = isEvaluation ? null : fourth;
    binding = isEvaluation ? third : null;
    policy = isEvaluation ? fourth : null;
    transaction = isEvaluation ? transaction(fields.get(5), fields.get(6)) : null;
  }

  private static Transaction transaction(byte[] purpose, byte[] transaction) {
    KitException.require(purpose.length == 1 && (purpose[0] == 1 || purpose[0] == 2), "unknown-purpose");
    KitException.require(purpose[0] == 2 || transaction.length == 0, "transaction-in-login");
    return purpose[0] == 2 ? Transaction.read(transaction) : null;
  }

  /** A ticket's, for new keys of this device. {@code expected}: the challenge that the app knows already, or null. */
  public static SigningInput ofBinding(byte[] bytes, String application, String profile, String device, byte[] expected) {
    SigningInput input = new SigningInput(bytes.clone(), "touchstone binding v1", 5);
    input.require(application, expected);
    KitException.require(input.profile.equals(profile), "other-profile");
    KitException.require(input.device.equals(device), "other-device");
    return input;
  }

  /**
   * An evaluation's, for this binding.
   *
   * @param shown the payment that the person just saw; null for a login.
   * @param expected the challenge of an earlier attempt at the same evaluation, or null.
   */
  public static SigningInput ofEvaluation(
      byte[] bytes, String application, String binding, Transaction shown, byte[] expected) {
    SigningInput input = new SigningInput(bytes.clone(), "touchstone evaluation v1", 7);
    input.require(application, expected);
    KitException.require(input.binding.equals(binding), "other-binding");
    KitException.require(input.transaction != null || shown == null, "not-a-payment");
    KitException.require(input.transaction == null || shown != null, "transaction-not-shown");
    KitException.require(shown == null || input.transaction.equals(shown), "other-transaction");
    return input;
  }

  private void require(String application, byte[] expected) {
    KitException.require(this.application.equals(application), "other-application");
    KitException.require(expected == null || Arrays.equals(challenge, expected), "other-challenge");
  }
}
