package touchstone.kit;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Judges a text that a person reads: all of it must be seen, in its order. */
final class Texts {
  private static final Pattern REORDERS = Pattern.compile("[\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069]");
  private static final Pattern HIDDEN = Pattern.compile(
      "[\\x00-\\x1F\\x7F-\\x9F\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180E\\u200B\\u2028\\u2029\\u2060-\\u2064"
          + "\\u206A-\\u206F\\u2800\\u3164\\uFEFF\\uFFA0\\uFFF9-\\uFFFB\\p{Cs}]");

  private Texts() {}

  /** Returns the code of the refusal, or null. */
  static String problem(String text) {
    return REORDERS.matcher(text).find() ? "text-reorders" : HIDDEN.matcher(text).find() ? "text-hidden" : null;
  }

  /** Returns the text if a person may be shown it, otherwise the other one. */
  static String legible(String text, int most, String otherwise) {
    return has(text, 1, most) && problem(text) == null ? text : otherwise;
  }

  /** Returns whether the text has that many bytes of UTF-8. */
  static boolean has(String text, int least, int most) {
    int length = text.getBytes(StandardCharsets.UTF_8).length;
    return length >= least && length <= most;
  }
}
