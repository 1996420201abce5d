package touchstone.kit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON of files that are known to be right: maps, lists, texts, doubles, booleans and null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object read(String text) {
    return new Json(text).value();
  }

  private Object value() {
    skip();
    switch (text.charAt(at)) {
      case '{': return object();
      case '[': return list();
      case '"': return string();
      default: return word();
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> object = new LinkedHashMap<>();
    at++;
    while (!isAt('}')) {
      String name = (String) value();
      isAt(':');
      object.put(name, value());
      isAt(',');
    }
    return object;
  }

  private List<Object> list() {
    List<Object> list = new ArrayList<>();
    at++;
    while (!isAt(']')) {
      list.add(value());
      isAt(',');
    }
    return list;
  }

  private String string() {
    StringBuilder string = new StringBuilder();
    for (at++; text.charAt(at) != '"'; at++) {
      char letter = text.charAt(at);
      if (letter == '\\') {
        letter = text.charAt(++at);
        int escape = "nrtbf".indexOf(letter);
        if (escape >= 0) {
          letter = "\n\r\t\b\f".charAt(escape);
        } else if (letter == 'u') {
          letter = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
          at += 4;
        }
      }
      string.append(letter);
    }
    at++;
    return string.toString();
  }

  private Object word() {
    int start = at;
    while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0 || Character.isLetterOrDigit(text.charAt(at))) {
      at++;
    }
    String word = text.substring(start, at);
    return word.equals("null") ? null : word.equals("true") || word.equals("false") ? word.equals("true") : (Object) Double.valueOf(word);
  }

  /** Passes the letter if it is next. */
  private boolean isAt(char letter) {
    skip();
    boolean isThere = text.charAt(at) == letter;
    at += isThere ? 1 : 0;
    return isThere;
  }

  private void skip() {
    while (Character.isWhitespace(text.charAt(at))) {
      at++;
    }
  }
}
