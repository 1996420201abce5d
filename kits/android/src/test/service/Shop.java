import com.google.protobuf.Timestamp;
import io.grpc.TlsChannelCredentials;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import touchstone.TouchstoneClient;
import touchstone.kit.Answer;
import touchstone.kit.NextStep;
import touchstone.kit.Posture;
import touchstone.kit.SimulatedPhone;
import touchstone.kit.TouchID;
import touchstone.kit.Transaction;
import touchstone.v1.ConsumeTokenRequest;
import touchstone.v1.PasscodeProof;
import touchstone.v1.PrimaryAuthentication;
import touchstone.v1.Secret;
import touchstone.v1.SetSecretRequest;

/**
 * An app on a JVM and its backend, beside a service: enable, log in, pay, change a finger, recover. Prints a line for
 * each step, and asks for what an Android phone's hardware says of a key: "attest", the kind, the key and the
 * challenge.
 */
public final class Shop {
  private static final Transaction COFFEE = new Transaction("3.20", "EUR", "Coffee Bar", "order-1");
  private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

  private Shop() {}

  /** Its hardware is what this program was started by. */
  private static final class AttestedPhone extends SimulatedPhone {
    @Override
    protected List<byte[]> certificates(byte[] publicKey, String kind, byte[] attestationChallenge) {
      System.out.println("attest " + kind + " " + hex(publicKey) + " " + hex(attestationChallenge));
      List<byte[]> chain = new ArrayList<>();
      try {
        for (String certificate : INPUT.readLine().split(" ")) {
          chain.add(new BigInteger(certificate, 16).toByteArray());
        }
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
      return chain;
    }

    private static String hex(byte[] bytes) {
      return new BigInteger(1, bytes).setBit(8 * bytes.length).toString(16).substring(1);
    }
  }

  private static void say(String what, NextStep next) {
    System.out.println(what + ": " + next.step + (next.factor == null ? "" : " " + next.factor)
        + (next.notices.isEmpty() ? "" : " " + next.notices) + (next.refusal == null ? "" : " " + next.refusal.getCode()));
  }

  private static boolean isChinese(String text) {
    return text != null && text.codePoints().anyMatch(letter -> Character.UnicodeScript.of(letter) == Character.UnicodeScript.HAN);
  }

  public static void main(String[] arguments) throws IOException {
    PrimaryAuthentication.Builder primary = PrimaryAuthentication.newBuilder().setMethod("password")
        .setAuthenticatedAt(Timestamp.newBuilder().setSeconds(System.currentTimeMillis() / 1000));
    try (TouchstoneClient client = TouchstoneClient.builder(arguments[0]).applicationId("shop").key(System.getenv("TOUCHSTONE_KEY"))
        .credentials(TlsChannelCredentials.newBuilder().trustManager(new File(arguments[1])).build()).build()) {
      Relay relay = new Relay(client, "anna", primary.build(), "zh-Hans");
      AttestedPhone phone = new AttestedPhone();
      TouchID touchID = new TouchID("shop", relay, phone, phone);
      touchID.languages = "zh-Hans";
      System.out.println("status: " + touchID.status("anna").status);
      say("enable", touchID.enable("anna", "Set up Touch ID"));
      say("login", touchID.login());
      NextStep paid = touchID.pay(COFFEE);
      say("pay", paid);
      System.out.println("consumed: " + client.consumeToken(ConsumeTokenRequest.newBuilder().setToken(paid.answer.token)
          .setTransaction(Relay.transaction(COFFEE)).build()).getConsumed());

      Collections.addAll(phone.person, "wrong", "wrong", "touch");
      say("two wrong fingers", touchID.login());
      phone.person.add("10");
      say("cancel", touchID.login());
      phone.shown.clear();
      phone.person.add("13");
      NextStep fallenBack = touchID.login();
      System.out.println("the first prompt's button is Chinese: " + isChinese(phone.shown.get(0).button));
      say("the button, and the phone's passcode", fallenBack);

      phone.enrollFinger();
      System.out.println("status after a new finger: " + touchID.status("anna").status);
      say("login after a new finger", touchID.login());
      say("bind again", touchID.enable("anna", "Set up Touch ID"));
      say("login after that", touchID.login());

      phone.person.add("7");
      NextStep locked = touchID.login();
      say("lockout, and the phone's passcode", locked);
      say("login after the lockout", touchID.login());

      Secret passcode = Secret.newBuilder().setPasscode(PasscodeProof.newBuilder().setPasscode("271828")).build();
      client.setSecret(SetSecretRequest.newBuilder()
          .setProfileId("anna").setSecret(passcode).setConfirmation(passcode).setPrimary(primary).build());
      Collections.addAll(phone.person, "7", "10");
      NextStep canceled = touchID.login();
      say("lockout, and no passcode of the phone", canceled);
      NextStep wrong = touchID.passcode("314159");
      say("a wrong passcode of the service", wrong);
      System.out.println("its message is Chinese: " + isChinese(wrong.message));
      say("a passcode of the service", touchID.passcode("271828"));

      AttestedPhone old = new AttestedPhone();
      old.hasBiometricKeyAlone = true;
      TouchID android10 = new TouchID("shop", relay, old, old);
      say("enable on Android 10", android10.enable("anna", "Set up Touch ID"));
      old.person.add("7");
      say("lockout there", android10.login());
      say("a passcode there", android10.passcode("271828"));
      say("login there after the lockout", android10.login());

      Relay liar = new Relay(client, "anna", primary.build(), "en") {
        @Override
        public Answer beginEvaluation(String policy, String bindingId, Posture posture, Transaction transaction) throws IOException {
          return super.beginEvaluation(policy, bindingId, posture, new Transaction("32.00", "EUR", "Mallory", "order-1"));
        }
      };
      say("a backend that lies", new TouchID("shop", liar, phone, phone).pay(COFFEE));

      phone.installation = "second";
      System.out.println("status on another installation: " + touchID.status("anna").status);
      say("login there", touchID.login());
      say("enable there", touchID.enable("anna", "Set up Touch ID"));
      relay.revokeBinding(phone.get("binding"));
      NextStep revoked = touchID.login();
      say("login after the shop revoked it", revoked);
      System.out.println("its message is Chinese: " + isChinese(revoked.message));
      System.out.println("status after that: " + touchID.status("anna").status);
      say("enable once more", touchID.enable("anna", "Set up Touch ID"));
      touchID.disable();
      System.out.println("status at the end: " + touchID.status("anna").status);
    }
  }
}
