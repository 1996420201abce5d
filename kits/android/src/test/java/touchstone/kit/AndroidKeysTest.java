package touchstone.kit;

import static touchstone.kit.Runner.check;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.StrongBoxUnavailableException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyPairGeneratorSpi;
import java.security.KeyStoreSpi;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Security;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** AndroidKeys in front of a stand-in for the Keystore, which notes what keys it was to make. */
final class AndroidKeysTest {
  private static final List<List<String>> MADE = new ArrayList<>();
  private static final Map<String, KeyPair> PAIRS = new HashMap<>();
  private static boolean hasStrongBox;

  static {
    Provider keystore = new Provider("AndroidKeyStore", "1", "a stand-in") {
      private static final long serialVersionUID = 1;
    };
    keystore.put("KeyPairGenerator.EC", Generator.class.getName());
    keystore.put("KeyStore.AndroidKeyStore", Store.class.getName());
    Security.addProvider(keystore);
  }

  AndroidKeysTest() {
    MADE.clear();
    PAIRS.clear();
    hasStrongBox = true;
  }

  void testTheKeysAreAsTheServiceExpects() throws GeneralSecurityException {
    AndroidKeys keys = new AndroidKeys(34);
    check(List.of("biometry", "device-owner"), keys.kinds(), "kinds");
    keys.make("a", Keys.BIOMETRY, new byte[32]);
    keys.make("b", Keys.DEVICE_OWNER, new byte[32]);
    List<String> common = List.of("purposes 4", "curve secp256r1", "digests SHA-256", "challenge 32", "authentication true");
    check(plus(common, "invalidated true", "each use 0 by 2", "strongbox true"), MADE.get(0), "biometric key");
    check(plus(common, "invalidated false", "each use 0 by 1", "strongbox true"), MADE.get(1), "device owner's key");
  }

  void testWithoutStrongBoxTheKeyIsInTheTrustedEnvironment() throws GeneralSecurityException {
    hasStrongBox = false;
    Keys.Made made = new AndroidKeys(34).make("a", Keys.BIOMETRY, new byte[32]);
    check(false, MADE.get(MADE.size() - 1).contains("strongbox true"), "strongbox");
    check("P256", PhoneKey.read(made.publicKey).algorithm, "key");
    check(2, made.certificates.size(), "certificates");
  }

  void testOldAndroidHasTheBiometricKeyAlone() throws GeneralSecurityException {
    AndroidKeys keys = new AndroidKeys(27);
    check(List.of("biometry"), keys.kinds(), "kinds");
    keys.make("a", Keys.BIOMETRY, new byte[32]);
    check(6, MADE.get(0).size(), "settings that Android 8.1 knows");
  }

  void testAKeySignsUntilItIsGone() throws GeneralSecurityException {
    AndroidKeys keys = new AndroidKeys(34);
    Keys.Made made = keys.make("a", Keys.BIOMETRY, new byte[32]);
    Signature signature = keys.signature("a");
    signature.update(new byte[] {1});
    Signatures.verify(PhoneKey.read(made.publicKey), new byte[] {1}, signature.sign());
    keys.delete("a");
    try {
      keys.signature("a");
      throw new AssertionError("signs");
    } catch (Keys.KeyNotFound gone) {
      check("key-gone", PlatformError.ofException(gone).means, "means");
    }
  }

  private static List<String> plus(List<String> list, String... more) {
    List<String> all = new ArrayList<>(list);
    Collections.addAll(all, more);
    return all;
  }

  /** Makes keys in memory. */
  public static final class Generator extends KeyPairGeneratorSpi {
    private KeyGenParameterSpec spec;

    @Override
    public void initialize(int size, SecureRandom random) {}

    @Override
    public void initialize(AlgorithmParameterSpec spec, SecureRandom random) {
      this.spec = (KeyGenParameterSpec) spec;
    }

    @Override
    public KeyPair generateKeyPair() {
      MADE.add(spec.set);
      if (!hasStrongBox && spec.set.contains("strongbox true")) {
        throw new StrongBoxUnavailableException();
      }
      try {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC", "SunEC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        KeyPair pair = generator.generateKeyPair();
        PAIRS.put(spec.alias, pair);
        return pair;
      } catch (GeneralSecurityException impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }

  /** Has these keys. */
  public static final class Store extends KeyStoreSpi {
    @Override
    public Key engineGetKey(String alias, char[] password) {
      return PAIRS.containsKey(alias) ? PAIRS.get(alias).getPrivate() : null;
    }

    @Override
    public Certificate[] engineGetCertificateChain(String alias) {
      return new Certificate[] {engineGetCertificate(alias), engineGetCertificate(alias)};
    }

    @Override
    public Certificate engineGetCertificate(String alias) {
      PublicKey key = PAIRS.get(alias).getPublic();
      return new Certificate("X.509") {
        private static final long serialVersionUID = 1;

        @Override
        public byte[] getEncoded() {
          return key.getEncoded();
        }

        @Override
        public void verify(PublicKey by) {}

        @Override
        public void verify(PublicKey by, String provider) {}

        @Override
        public String toString() {
          return alias;
        }

        @Override
        public PublicKey getPublicKey() {
          return key;
        }
      };
    }

    @Override
    public boolean engineContainsAlias(String alias) {
      return PAIRS.containsKey(alias);
    }

    @Override
    public void engineDeleteEntry(String alias) {
      PAIRS.remove(alias);
    }

    @Override
    public void engineLoad(InputStream stream, char[] password) {}

    @Override
    public Date engineGetCreationDate(String alias) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineSetKeyEntry(String alias, Key key, char[] password, Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineSetKeyEntry(String alias, byte[] key, Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineSetCertificateEntry(String alias, Certificate certificate) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Enumeration<String> engineAliases() {
      return Collections.enumeration(PAIRS.keySet());
    }

    @Override
    public int engineSize() {
      return PAIRS.size();
    }

    @Override
    public boolean engineIsKeyEntry(String alias) {
      return true;
    }

    @Override
    public boolean engineIsCertificateEntry(String alias) {
      return false;
    }

    @Override
    public String engineGetCertificateAlias(Certificate certificate) {
      return null;
    }

    @Override
    public void engineStore(OutputStream stream, char[] password) {
      throw new UnsupportedOperationException();
    }
  }
}
