package touchstone.kit;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The service's encoding: fields, each of them a length in four bytes, big-endian, and that many bytes. */
final class Fields {
  private Fields() {}

  /** Takes bytes apart, which must be this many fields. The first one is the tag. */
  static List<byte[]> read(byte[] bytes, String tag, int count) {
    List<byte[]> fields = new ArrayList<>();
    ByteBuffer rest = ByteBuffer.wrap(bytes);
    while (rest.remaining() >= 4) {
      int length = rest.getInt(rest.position());
      if (length < 0 || length > rest.remaining() - 4) {
        break;
      }
      byte[] field = new byte[length];
      rest.getInt();
      rest.get(field);
      fields.add(field);
    }
    KitException.require(!fields.isEmpty(), "truncated");
    KitException.require(Arrays.equals(fields.get(0), tag.getBytes(StandardCharsets.UTF_8)), "wrong-tag");
    KitException.require(!rest.hasRemaining(), fields.size() < count ? "truncated" : "leftover-bytes");
    KitException.require(fields.size() == count, "field-count");
    return fields;
  }

  static byte[] write(byte[]... fields) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (byte[] field : fields) {
      bytes.write(ByteBuffer.allocate(4).putInt(field.length).array(), 0, 4);
      bytes.write(field, 0, field.length);
    }
    return bytes.toByteArray();
  }

  static String text(byte[] field) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(field)).toString();
    } catch (CharacterCodingException notText) {
      throw new KitException("not-utf8", notText);
    }
  }
}
