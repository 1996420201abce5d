package touchstone.kit;

import java.security.GeneralSecurityException;
import java.security.Signature;
import java.util.List;

/** The phone's key store. {@link AndroidKeys} has them in the Keystore, {@link SoftwareKeys} in memory. */
public interface Keys {
  String BIOMETRY = "biometry";
  String DEVICE_OWNER = "device-owner";

  /** Returns the kinds of key that this phone can have: biometry, device-owner. */
  List<String> kinds();

  /** Makes a key on P-256 for signatures with SHA-256, in place of an earlier one of the alias. */
  Made make(String alias, String kind, byte[] attestationChallenge) throws GeneralSecurityException;

  /** Returns a signature initialised with the key, for the prompt. Throws {@link KeyNotFound} if there is none. */
  Signature signature(String alias) throws GeneralSecurityException;

  void delete(String alias) throws GeneralSecurityException;

  /** A new key: SubjectPublicKeyInfo, and the certificates of the hardware, leaf first, or none. */
  final class Made {
    final byte[] publicKey;
    final List<byte[]> certificates;

    public Made(byte[] publicKey, List<byte[]> certificates) {
      this.publicKey = publicKey;
      this.certificates = certificates;
    }
  }

  /** The key store answered without a key. */
  final class KeyNotFound extends GeneralSecurityException {
    private static final long serialVersionUID = 1;
  }
}
