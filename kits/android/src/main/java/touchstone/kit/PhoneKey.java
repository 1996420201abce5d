package touchstone.kit;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.spec.RSAPublicKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;

/** A public key in one of the forms that platforms give: P-256 in X9.63 or SPKI, RSA in SPKI or PKCS#1. */
public final class PhoneKey {
  private static final BigInteger PRIME = hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
  private static final BigInteger B = hex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b");
  private static final byte[] EC = hex("06072a8648ce3d0201").toByteArray();
  private static final byte[] P256 = hex("06072a8648ce3d020106082a8648ce3d030107").toByteArray();
  /** The bytes before the coordinates in the SubjectPublicKeyInfo of a key on P-256. */
  private static final byte[] P256_HEAD = hex("3059301306072a8648ce3d020106082a8648ce3d03010703420004").toByteArray();
  private static final byte[] RSA = hex("06092a864886f70d0101010500").toByteArray();
  private static final String NO_KEY = "not-a-key";

  /** {@code P256} or {@code RSA}. */
  public final String algorithm;
  /** {@code x963}, {@code x963-compressed}, {@code spki}, {@code spki-compressed} or {@code pkcs1}. */
  public final String form;
  /** SubjectPublicKeyInfo, which the service takes; of a key on P-256 with its point uncompressed. */
  public final byte[] spki;
  /** The bits of the modulus; 256 for P-256. */
  public final int bits;

  private PhoneKey(String algorithm, String form, int bits, byte[] spki) {
    this.algorithm = algorithm;
    this.form = form;
    this.bits = bits;
    this.spki = spki;
  }

  public static PhoneKey read(byte[] key) {
    KitException.require(!new String(key, StandardCharsets.ISO_8859_1).startsWith("-----BEGIN "), "pem");
    if (isPoint(key)) {
      return ofPoint(key, "x963");
    }
    Der outer = Der.sequence(key, NO_KEY);
    if (outer.nextTag() == Der.INTEGER) {
      return ofRSA(key, "pkcs1");
    }
    byte[] kind = outer.content(Der.SEQUENCE);
    byte[] bits = outer.content(Der.BIT_STRING);
    outer.end();
    outer.require(bits.length > 0 && bits[0] == 0);
    byte[] inner = Arrays.copyOfRange(bits, 1, bits.length);
    if (Arrays.equals(kind, RSA)) {
      return ofRSA(inner, "spki");
    }
    boolean isNamedCurve = kind.length > EC.length && kind[EC.length] == Der.OBJECT_IDENTIFIER;
    outer.require(isNamedCurve && Arrays.equals(Arrays.copyOf(kind, EC.length), EC));
    KitException.require(Arrays.equals(kind, P256), "other-curve");
    outer.require(isPoint(inner));
    return ofPoint(inner, "spki");
  }

  private static boolean isPoint(byte[] key) {
    return key.length == 65 && key[0] == 4 || isCompressed(key);
  }

  private static boolean isCompressed(byte[] key) {
    return key.length == 33 && (key[0] == 2 || key[0] == 3);
  }

  private static PhoneKey ofPoint(byte[] point, String form) {
    BigInteger x = new BigInteger(1, Arrays.copyOfRange(point, 1, 33));
    BigInteger square = x.pow(3).subtract(x.multiply(BigInteger.valueOf(3))).add(B).mod(PRIME);
    BigInteger y = new BigInteger(1, Arrays.copyOfRange(point, 33, point.length));
    if (isCompressed(point)) {
      BigInteger root = square.modPow(PRIME.add(BigInteger.ONE).shiftRight(2), PRIME);
      y = root.testBit(0) == (point[0] == 3) ? root : PRIME.subtract(root);
    }
    boolean isOnCurve = x.compareTo(PRIME) < 0 && y.compareTo(PRIME) < 0 && y.multiply(y).mod(PRIME).equals(square);
    KitException.require(isOnCurve, "not-on-curve");
    byte[] spki = Arrays.copyOf(P256_HEAD, P256_HEAD.length + 64);
    System.arraycopy(Signatures.join(x, y), 0, spki, P256_HEAD.length, 64);
    return new PhoneKey("P256", isCompressed(point) ? form + "-compressed" : form, 256, spki);
  }

  private static PhoneKey ofRSA(byte[] pkcs1, String form) {
    Der numbers = Der.sequence(pkcs1, NO_KEY);
    BigInteger modulus = numbers.integer();
    BigInteger exponent = numbers.integer();
    numbers.end();
    KitException.require(modulus.testBit(0), "rsa-even");
    KitException.require(modulus.bitLength() >= 2048, "rsa-too-small");
    KitException.require(modulus.bitLength() <= 4096, "rsa-too-large");
    KitException.require(exponent.equals(BigInteger.valueOf(65537)), "rsa-exponent");
    try {
      byte[] spki = KeyFactory.getInstance("RSA").generatePublic(new RSAPublicKeySpec(modulus, exponent)).getEncoded();
      return new PhoneKey("RSA", form, modulus.bitLength(), spki);
    } catch (GeneralSecurityException refused) {
      throw new KitException(NO_KEY, refused);
    }
  }

  /** Returns X9.63 uncompressed, 65 bytes, of a key on P-256. */
  public byte[] x963() {
    return Arrays.copyOfRange(spki, spki.length - 65, spki.length);
  }

  PublicKey publicKey() throws GeneralSecurityException {
    return KeyFactory.getInstance(algorithm.equals("P256") ? "EC" : "RSA").generatePublic(new X509EncodedKeySpec(spki));
  }

  private static BigInteger hex(String digits) {
    return new BigInteger(digits, 16);
  }
}
