package touchstone.kit;

import java.security.Signature;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What the app gives the kit: its prompt, its posture, and a place for a few texts. */
public interface Phone {
  /** Read anew for each call. {@code lockedOut}: see {@link Posture#ofAndroid}. */
  Posture posture(boolean lockedOut);

  /** An id that the app made at its first start and keeps where no backup reaches it (noBackupFilesDir). */
  String installation();

  /** A text that was kept, or null. Only the app can read it. */
  String get(String name);

  /** Keeps a text; null removes it. */
  void put(String name, String value);

  /** Prompts the person, and tells the events whatever BiometricPrompt's callback gets. Returns at once. */
  void show(Request request, Signature signature, Events events);

  /** Takes the prompt away. */
  void close();

  /** What the prompt shows. */
  final class Request {
    /** FACTOR_BIOMETRY: BIOMETRIC_STRONG. FACTOR_DEVICE_OWNER: DEVICE_CREDENTIAL, without a negative button. */
    public final String factor;
    public final String title;
    public final String subtitle;
    /**
     * The negative button; null if the factor has none. It has {@code fallback_title} from the first prompt on, because
     * Android cannot change a button after the first failure. The back gesture cancels.
     */
    public final String button;
    public final boolean isConfirmationRequired;
    final boolean isFallbackButton;

    Request(String factor, Answer answer, Transaction shown) {
      this.factor = factor;
      title = shown == null ? answer.localizedReason : shown.amount + " " + shown.currency + ", " + shown.payee;
      subtitle = shown == null ? "" : shown.reference;
      isFallbackButton = !answer.fallbackTitle.isEmpty();
      String cancel = answer.cancelTitle.isEmpty() ? "Cancel" : answer.cancelTitle;
      button = factor.equals("FACTOR_BIOMETRY") ? isFallbackButton ? answer.fallbackTitle : cancel : null;
      isConfirmationRequired = shown != null;
    }
  }

  /** What happens at a prompt, on whatever thread. */
  final class Events {
    private final BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    private final boolean isFallbackButton;
    private final long deadline;

    /** {@code deadline}: of System.nanoTime. */
    Events(boolean isFallbackButton, long deadline) {
      this.isFallbackButton = isFallbackButton;
      this.deadline = deadline;
    }

    /** {@code onAuthenticationSucceeded}: the signature of its CryptoObject. */
    public void succeeded(Signature signature) {
      queue.add(signature);
    }

    /** {@code onAuthenticationFailed}. */
    public void failed() {
      queue.add(PlatformError.ofLAError(-1, false));
    }

    /** {@code onAuthenticationError}. */
    public void error(int code) {
      queue.add(PlatformError.ofPrompt(code, isFallbackButton, false));
    }

    /** A signature or a PlatformError; null if nothing happened in time. */
    Object next() throws InterruptedException {
      return queue.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
  }
}
