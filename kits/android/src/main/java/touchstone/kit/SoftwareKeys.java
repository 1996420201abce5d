package touchstone.kit;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Keys in memory, for tests and for programs on machines without a key store. Nothing protects them. */
public class SoftwareKeys implements Keys {
  private final Map<String, KeyPair> pairs = new ConcurrentHashMap<>();

  @Override
  public List<String> kinds() {
    return List.of(BIOMETRY, DEVICE_OWNER);
  }

  @Override
  public Made make(String alias, String kind, byte[] attestationChallenge) throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    KeyPair pair = generator.generateKeyPair();
    pairs.put(alias, pair);
    byte[] publicKey = pair.getPublic().getEncoded();
    return new Made(publicKey, certificates(publicKey, kind, attestationChallenge));
  }

  /** Returns no certificates. A test's phone may have some. */
  protected List<byte[]> certificates(byte[] publicKey, String kind, byte[] attestationChallenge) {
    return List.of();
  }

  @Override
  public Signature signature(String alias) throws GeneralSecurityException {
    KeyPair pair = pairs.get(alias);
    if (pair == null) {
      throw new KeyNotFound();
    }
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(pair.getPrivate());
    return signature;
  }

  @Override
  public void delete(String alias) {
    pairs.remove(alias);
  }
}
