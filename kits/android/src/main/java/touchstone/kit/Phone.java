package touchstone.kit;

import java.security.Signature;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The part of the app that the kit needs: its prompt, its posture, and a place for a few texts. */
public interface Phone {
  /** Reads the posture anew for each call. {@code lockedOut}: see {@link Posture#ofAndroid}. */
  Posture posture(boolean lockedOut);

  /** Returns an id that the app made at its first start and keeps where no backup reaches it (noBackupFilesDir). */
  String installation();

  /** Returns a text that was kept, or null. Only the app can read it. */
  String get(String name);

  /** Keeps a text; null removes it. */
  void put(String name, String value);

  /** Shows the prompt, and passes each call of BiometricPrompt's callback to {@code events}. Returns at once. */
  void show(Request request, Signature signature, Events events);

  /** Takes the prompt away. */
  void close();

  /** The content of a prompt. */
  final class Request {
    /** The service's bounds. */
    private static final int MOST_REASON_BYTES = 512;
    private static final int MOST_TITLE_BYTES = 128;

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

    /** A payment's prompt shows what is signed. A backend's texts are shown if all of them can be seen. */
    Request(String factor, Answer answer, Transaction shown, String application) {
      this.factor = factor;
      title = shown == null ? Texts.legible(answer.localizedReason, MOST_REASON_BYTES, application)
          : shown.amount + " " + shown.currency + ", " + shown.payee;
      subtitle = shown == null ? "" : shown.reference;
      String fallback = Texts.legible(answer.fallbackTitle, MOST_TITLE_BYTES, null);
      isFallbackButton = fallback != null;
      String cancel = Texts.legible(answer.cancelTitle, MOST_TITLE_BYTES, "Cancel");
      button = factor.equals("FACTOR_BIOMETRY") ? isFallbackButton ? fallback : cancel : null;
      isConfirmationRequired = shown != null;
    }
  }

  /** The events of one prompt. Any thread may add one. */
  final class Events {
    private final BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    private final boolean isFallbackButton;
    private final long deadline;

    /** {@code deadline}: a time of System.nanoTime. */
    Events(boolean isFallbackButton, long deadline) {
      this.isFallbackButton = isFallbackButton;
      this.deadline = deadline;
    }

    /** Adds {@code onAuthenticationSucceeded}, with the signature of its CryptoObject. */
    public void succeeded(Signature signature) {
      queue.add(signature);
    }

    /** Adds {@code onAuthenticationFailed}. */
    public void failed() {
      queue.add(PlatformError.ofLAError(-1, false));
    }

    /** Adds {@code onAuthenticationError}. */
    public void error(int code) {
      queue.add(PlatformError.ofPrompt(code, isFallbackButton, false));
    }

    /** Returns a signature or a PlatformError; null if nothing happened in time. */
    Object next() throws InterruptedException {
      return queue.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    }
  }
}
