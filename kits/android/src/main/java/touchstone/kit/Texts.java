package touchstone.kit;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Judges a text that a person reads: all of it must be seen, in its order. */
final class Texts {
  private static final Pattern REORDERS = Pattern.compile("[\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069]");
  /** Joiners are hidden where they join nothing, and tags where no flag is before them. */
  private static final Pattern HIDDEN = Pattern.compile(
      "[\\p{Cc}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u2800\\u3164\\uFFA0]"
          + "|[\\p{Cf}&&[^\\u200C\\u200D\\x{E0020}-\\x{E007F}]]"
          + "|(?<![^\\x00-\\x7F])[\\u200C\\u200D]|[\\u200C\\u200D](?![^\\x00-\\x7F])"
          + "|(?<![\\x{1F3F4}\\x{E0020}-\\x{E007F}])[\\x{E0020}-\\x{E007F}]");

  private Texts() {}

  /** The code of the refusal, or null. The length is in bytes of UTF-8. */
  static String problem(String text, int longest) {
    int length = length(text);
    if (length == 0 || length > longest) {
      return "wrong-length";
    }
    return REORDERS.matcher(text).find() ? "text-reorders" : HIDDEN.matcher(text).find() ? "text-hidden" : null;
  }

  static int length(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}
