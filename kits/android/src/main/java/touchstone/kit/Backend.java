package touchstone.kit;

import java.io.IOException;
import java.util.List;

/**
 * The app's own backend, which knows who is logged in and calls the service. The kit calls it on the thread that uses
 * {@link TouchID}. An IOException that is no {@link CallFailed} reaches the app as it is.
 */
public interface Backend {
  /** Calls BeginBinding for the person who is logged in. */
  Answer beginBinding(String deviceId, Posture posture) throws IOException;

  /**
   * Calls CompleteBinding. {@code handle}: the one in beginBinding's answer. {@code replaceExisting}: see {@link
   * TouchID#enable}.
   */
  Answer completeBinding(byte[] handle, List<BoundKey> keys, Posture posture, boolean replaceExisting) throws IOException;

  /** Calls BeginEvaluation; {@code transaction} is null for a login. */
  Answer beginEvaluation(String policy, String bindingId, Posture posture, Transaction transaction) throws IOException;

  /** Calls SubmitAttempt. {@code handle}: the one in beginEvaluation's answer. */
  Answer submitAttempt(byte[] handle, Proof proof, Posture posture) throws IOException;

  /** Calls RevokeBinding. A backend without it leaves the binding, whose keys are gone. */
  default void revokeBinding(String bindingId) throws IOException {}

  /** A new key with its proof of possession, for HardwareKey. */
  final class BoundKey {
    /** SubjectPublicKeyInfo. */
    public byte[] publicKey;
    /** KEY_PROTECTION_BIOMETRY_CURRENT_SET or KEY_PROTECTION_DEVICE_PASSCODE. */
    public String protection;
    public byte[] signature;
    /** The certificates of Android's hardware, leaf first; empty if nothing vouches for the key. */
    public List<byte[]> certificateChain;
  }

  /** One attempt: a signature, a report of {@code laError}, a passcode or a gesture. Other fields are null. */
  final class Proof {
    public String factor;
    public byte[] signature;
    public Integer laError;
    public String passcode;
    public List<Integer> gesture;
  }

  /** A call that the service refused: its gRPC status, and what the details say. */
  final class CallFailed extends IOException {
    private static final long serialVersionUID = 1;
    final String status;
    final String reason;
    final double retryAfter;

    public CallFailed(String status, String reason, double retryAfter) {
      super(status + " " + reason);
      this.status = status;
      this.reason = reason;
      this.retryAfter = retryAfter;
    }
  }
}
