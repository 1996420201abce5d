package touchstone.kit;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;

/** A payment that a person approves. Any change of any field makes it another one. */
public final class Transaction {
  private static final String TAG = "touchstone transaction v1";

  public final String amount;
  public final String currency;
  public final String payee;
  public final String reference;

  public Transaction(String amount, String currency, String payee, String reference) {
    this.amount = amount;
    this.currency = currency;
    this.payee = payee;
    this.reference = reference;
  }

  /** Takes the transaction of a signing input apart. */
  static Transaction read(byte[] bytes) {
    List<byte[]> fields;
    try {
      fields = Fields.read(bytes, TAG, 5);
    } catch (KitException malformed) {
      throw new KitException("malformed-transaction", malformed);
    }
    Transaction transaction = new Transaction(
        Fields.text(fields.get(1)), Fields.text(fields.get(2)), Fields.text(fields.get(3)), Fields.text(fields.get(4)));
    transaction.check();
    return transaction;
  }

  private void check() {
    boolean isAmount = amount.matches("(0|[1-9][0-9]*)(\\.[0-9]+)?") && !amount.matches("[0.]*");
    KitException.require(isAmount && amount.replace(".", "").length() <= 18, "wrong-amount");
    KitException.require(currency.matches("[A-Z]{3}"), "wrong-currency");
    KitException.require(Texts.has(payee, 1, 256) && Texts.has(reference, 1, 128), "wrong-length");
    KitException.require(Texts.problem(payee) == null, Texts.problem(payee));
    KitException.require(Texts.problem(reference) == null, Texts.problem(reference));
  }

  /** Returns the claim {@code txn} of the payment's token: SHA-256 in base64url. */
  public String digest() {
    byte[][] fields = Stream.of(TAG, amount, currency, payee, reference)
        .map(text -> text.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(Signatures.sha256(Fields.write(fields)));
  }
}
