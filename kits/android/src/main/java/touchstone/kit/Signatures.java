package touchstone.kit;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.Signature;
import java.util.Arrays;
import java.util.Base64;

/** Signatures in the forms that platforms and their wrappers make. */
public final class Signatures {
  private static final BigInteger ORDER =
      new BigInteger("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", 16);

  private Signatures() {}

  /** Returns the bytes that a key signs: the signing input, or its base64url text without padding (BASE64URL_TEXT). */
  public static byte[] message(byte[] signingInput, boolean asText) {
    return asText ? Base64.getUrlEncoder().withoutPadding().encode(signingInput) : signingInput;
  }

  /** Refuses what is no signature of the message by the key. */
  public static void verify(PhoneKey key, byte[] message, byte[] signature) {
    boolean isRSA = key.algorithm.equals("RSA");
    KitException.require(!isRSA || signature.length == (key.bits + 7) / 8, "not-a-signature");
    byte[] checked = isRSA ? signature : der(raw(signature));
    boolean isRight;
    try {
      Signature verifier = Signature.getInstance(isRSA ? "SHA256withRSA" : "SHA256withECDSA");
      verifier.initVerify(key.publicKey());
      verifier.update(message);
      isRight = verifier.verify(checked);
    } catch (GeneralSecurityException wrong) {
      isRight = false;
    }
    KitException.require(isRight, "wrong-signature");
  }

  /** Returns r and s in 64 bytes, of an ECDSA signature on P-256 in either form. */
  public static byte[] raw(byte[] signature) {
    BigInteger r;
    BigInteger s;
    if (signature.length == 64) {
      r = new BigInteger(1, Arrays.copyOf(signature, 32));
      s = new BigInteger(1, Arrays.copyOfRange(signature, 32, 64));
    } else {
      Der numbers = Der.sequence(signature, "not-a-signature");
      r = numbers.integer();
      s = numbers.integer();
      numbers.end();
      numbers.require(r.bitLength() <= 256 && s.bitLength() <= 256);
    }
    boolean isInRange = r.signum() > 0 && s.signum() > 0 && r.compareTo(ORDER) < 0 && s.compareTo(ORDER) < 0;
    KitException.require(isInRange, "wrong-signature");
    return join(r, s);
  }

  /** Returns a sequence of two numbers, of at most 72 bytes. */
  private static byte[] der(byte[] raw) {
    byte[] r = new BigInteger(1, Arrays.copyOf(raw, 32)).toByteArray();
    byte[] s = new BigInteger(1, Arrays.copyOfRange(raw, 32, 64)).toByteArray();
    return ByteBuffer.allocate(r.length + s.length + 6)
        .put((byte) Der.SEQUENCE).put((byte) (r.length + s.length + 4))
        .put((byte) Der.INTEGER).put((byte) r.length).put(r)
        .put((byte) Der.INTEGER).put((byte) s.length).put(s).array();
  }

  /** Returns two numbers of at most 256 bits, in 32 bytes each. */
  static byte[] join(BigInteger first, BigInteger second) {
    byte[] digits = first.shiftLeft(256).or(second).setBit(512).toByteArray();
    return Arrays.copyOfRange(digits, 1, 65);
  }

  static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
