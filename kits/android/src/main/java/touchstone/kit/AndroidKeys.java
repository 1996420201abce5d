package touchstone.kit;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyProperties;
import android.security.keystore.StrongBoxUnavailableException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * Keys in Android's Keystore. This class was compiled against stubs of Android's classes, and has not run on a phone.
 */
public final class AndroidKeys implements Keys {
  private static final String STORE = "AndroidKeyStore";
  private static final int ANDROID_9 = 28;
  private static final int ANDROID_11 = 30;

  private final int version;

  /** Takes the {@code version}: {@code Build.VERSION.SDK_INT}. */
  public AndroidKeys(int version) {
    this.version = version;
  }

  /** A prompt for the device's credential with a key needs Android 11. */
  @Override
  public List<String> kinds() {
    return version < ANDROID_11 ? List.of(BIOMETRY) : List.of(BIOMETRY, DEVICE_OWNER);
  }

  @Override
  public Made make(String alias, String kind, byte[] attestationChallenge) throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, STORE);
    try {
      generate(generator, alias, kind, attestationChallenge, version >= ANDROID_9);
    } catch (StrongBoxUnavailableException noStrongBox) {
      generate(generator, alias, kind, attestationChallenge, false);
    }
    List<byte[]> chain = new ArrayList<>();
    for (Certificate certificate : store().getCertificateChain(alias)) {
      chain.add(certificate.getEncoded());
    }
    return new Made(store().getCertificate(alias).getPublicKey().getEncoded(), chain);
  }

  private void generate(KeyPairGenerator generator, String alias, String kind, byte[] challenge, boolean isStrongBox)
      throws GeneralSecurityException {
    boolean isBiometric = kind.equals(BIOMETRY);
    KeyGenParameterSpec.Builder spec = new KeyGenParameterSpec.Builder(alias, KeyProperties.PURPOSE_SIGN)
        .setAlgorithmParameterSpec(new ECGenParameterSpec("secp256r1"))
        .setDigests(KeyProperties.DIGEST_SHA256)
        .setAttestationChallenge(challenge)
        .setUserAuthenticationRequired(true)
        .setInvalidatedByBiometricEnrollment(isBiometric);
    if (version >= ANDROID_11) {
      // Before, a key without a validity takes biometrics at each use, and nothing else.
      spec.setUserAuthenticationParameters(
          0, isBiometric ? KeyProperties.AUTH_BIOMETRIC_STRONG : KeyProperties.AUTH_DEVICE_CREDENTIAL);
    }
    if (isStrongBox) {
      spec.setIsStrongBoxBacked(true);
    }
    generator.initialize(spec.build());
    generator.generateKeyPair();
  }

  @Override
  public Signature signature(String alias) throws GeneralSecurityException {
    PrivateKey key = (PrivateKey) store().getKey(alias, null);
    if (key == null) {
      throw new KeyNotFound();
    }
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(key);
    return signature;
  }

  @Override
  public void delete(String alias) throws GeneralSecurityException {
    store().deleteEntry(alias);
  }

  private static KeyStore store() throws GeneralSecurityException {
    try {
      KeyStore store = KeyStore.getInstance(STORE);
      store.load(null);
      return store;
    } catch (IOException unreadable) {
      throw new KeyStoreException(unreadable);
    }
  }
}
