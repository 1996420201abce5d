package touchstone.kit;

import java.math.BigInteger;
import java.util.Arrays;

/** DER, read strictly: each length and number in its shortest form. Anything else is refused with the reader's code. */
final class Der {
  static final int INTEGER = 0x02;
  static final int BIT_STRING = 0x03;
  static final int OBJECT_IDENTIFIER = 0x06;
  static final int SEQUENCE = 0x30;

  private final byte[] bytes;
  private final String code;
  private int at;

  Der(byte[] bytes, String code) {
    this.bytes = bytes;
    this.code = code;
  }

  /** Returns the sequence that is all of these bytes. */
  static Der sequence(byte[] bytes, String code) {
    Der whole = new Der(bytes, code);
    byte[] content = whole.content(SEQUENCE);
    whole.end();
    return new Der(content, code);
  }

  int nextTag() {
    return at < bytes.length ? bytes[at] & 0xFF : -1;
  }

  byte[] content(int tag) {
    require(nextTag() == tag && at + 1 < bytes.length);
    int length = bytes[at + 1] & 0xFF;
    int start = at + 2;
    if (length >= 0x80) {
      int digits = length - 0x80;
      require(digits >= 1 && digits <= 2 && start + digits <= bytes.length);
      length = new BigInteger(1, Arrays.copyOfRange(bytes, start, start + digits)).intValue();
      require(length >= (digits == 1 ? 0x80 : 0x100));
      start += digits;
    }
    require(length <= bytes.length - start);
    at = start + length;
    return Arrays.copyOfRange(bytes, start, at);
  }

  /** Returns a number that is not negative. */
  BigInteger integer() {
    byte[] content = content(INTEGER);
    require(content.length > 0);
    BigInteger number = new BigInteger(content);
    require(number.signum() >= 0 && number.toByteArray().length == content.length);
    return number;
  }

  void end() {
    require(at == bytes.length);
  }

  void require(boolean condition) {
    KitException.require(condition, code);
  }
}
