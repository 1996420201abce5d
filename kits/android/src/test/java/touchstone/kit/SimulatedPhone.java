package touchstone.kit;

import java.security.GeneralSecurityException;
import java.security.Signature;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An Android phone without a phone: keys in memory, and a person who does what a script says. */
public class SimulatedPhone extends SoftwareKeys implements Phone {
  /** The acts of the person at the next prompts: touch, wrong, or a code of BiometricPrompt. Without more: touch. */
  public final Deque<String> person = new ArrayDeque<>();
  public final List<Request> shown = new ArrayList<>();
  public final Map<String, String> kept = new HashMap<>();
  public String installation = "first";
  public boolean isEnrolled = true;
  /** Whether the phone has no prompt for a key by its own passcode, as Android before 11. */
  public boolean hasBiometricKeyAlone;
  public int closed;
  private boolean isInvalidated;

  /** Enrolls a finger: the biometric key is dead, though the Keystore has it still. */
  public void enrollFinger() {
    isInvalidated = true;
  }

  @Override
  public List<String> kinds() {
    return hasBiometricKeyAlone ? List.of(BIOMETRY) : super.kinds();
  }

  @Override
  public Made make(String alias, String kind, byte[] attestationChallenge) throws GeneralSecurityException {
    if (kind.equals(BIOMETRY)) {
      isInvalidated = false;
    }
    return super.make(alias, kind, attestationChallenge);
  }

  @Override
  public Signature signature(String alias) throws GeneralSecurityException {
    Signature signature = super.signature(alias);
    if (isInvalidated && alias.endsWith("." + BIOMETRY)) {
      throw new KeyPermanentlyInvalidatedException();
    }
    return signature;
  }

  /** The exception has the name of Android's. */
  static final class KeyPermanentlyInvalidatedException extends GeneralSecurityException {
    private static final long serialVersionUID = 1;
  }

  @Override
  public Posture posture(boolean lockedOut) {
    return Posture.ofAndroid("14", "Pixel 8", isEnrolled ? 0 : 11, true, lockedOut);
  }

  @Override
  public String installation() {
    return installation;
  }

  @Override
  public String get(String name) {
    return kept.get(name);
  }

  @Override
  public void put(String name, String value) {
    kept.compute(name, (key, before) -> value);
  }

  @Override
  public void show(Request request, Signature signature, Events events) {
    shown.add(request);
    for (;;) {
      String act = person.isEmpty() ? "touch" : person.remove();
      switch (act) {
        case "touch":
          events.succeeded(signature);
          return;
        case "wrong":
          events.failed();
          if (person.isEmpty()) {
            return;
          }
          break;
        case "nothing":
          return;
        default:
          events.error(Integer.parseInt(act));
          return;
      }
    }
  }

  @Override
  public void close() {
    closed++;
  }
}
