package touchstone.kit;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The language of the service's texts for a person: RFC 9110, section 12.5.4, over the service's languages. */
final class Languages {
  private static final String ENGLISH = "en";
  private static final String CHINESE = "zh-Hans";
  /** The service reads no more ranges. */
  private static final int MOST_RANGES = 32;
  private static final Pattern WEIGHTED = Pattern.compile(
      "\\s*(\\*|[a-z0-9]{1,8}(?:-[a-z0-9]{1,8})*)\\s*(?:;\\s*q=([01](?:\\.[0-9]{0,3})?)\\s*)?");
  /** Chinese without a script is simplified, but for places that write traditional characters. */
  private static final Pattern SIMPLIFIED = Pattern.compile("zh(?=.*-hans\\b|(?!.*-(hant|tw|hk|mo)\\b))(-.*)?");

  private Languages() {}

  /** Returns the service's language for a value of Accept-Language: the most wanted one, among equals the first. */
  static String served(String languages) {
    List<String> named = new ArrayList<>();
    List<Double> weights = new ArrayList<>();
    double others = 0;
    String[] ranges = languages.toLowerCase(Locale.ROOT).split(",");
    for (int i = 0; i < Math.min(ranges.length, MOST_RANGES); i++) {
      Matcher range = WEIGHTED.matcher(ranges[i]);
      double weight = !range.matches() ? 2 : range.group(2) == null ? 1 : Double.parseDouble(range.group(2));
      if (weight > 1) {
        continue;
      }
      boolean isChinese = SIMPLIFIED.matcher(range.group(1)).matches();
      if (range.group(1).equals("*")) {
        others = weight;
      } else if (isChinese || range.group(1).matches("en(-.*)?")) {
        named.add(isChinese ? CHINESE : ENGLISH);
        weights.add(weight);
      }
    }
    // "*" stands for the languages that no range names.
    for (String language : List.of(ENGLISH, CHINESE)) {
      if (!named.contains(language)) {
        named.add(language);
        weights.add(others);
      }
    }
    int best = 0;
    for (int i = 1; i < weights.size(); i++) {
      best = weights.get(i) > weights.get(best) ? i : best;
    }
    return weights.get(best) > 0 ? named.get(best) : ENGLISH;
  }
}
