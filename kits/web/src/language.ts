// The language of the service's texts for a person: RFC 9110, section 12.5.4, over the languages that the service has.

const maximumRanges = 32; // The service reads no more.
const weighted = /^\s*(\*|[a-z\d]{1,8}(?:-[a-z\d]{1,8})*)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/;
/** Chinese without a script is simplified, but for places that write traditional characters. */
const served = /^(en|zh(?=.*-hans\b)|zh(?!.*-(hant|tw|hk|mo)\b))\b/;

/** Returns the language that the service chooses for a value of `accept-language`: the most wanted one, among equals the first. */
export function languageOf(languages: string): string {
  const wants: [string, number][] = [];
  let others = 0;
  for (const element of languages.toLowerCase().split(",").slice(0, maximumRanges)) {
    const [, range = "", weight = 1] = weighted.exec(element) ?? [];
    const named = served.exec(range);
    if (+weight > 1) continue;
    if (named) wants.push([named[1], +weight]);
    else if (range === "*") others = +weight;
  }
  // "*" stands for the languages that no range names.
  for (const one of ["en", "zh"]) if (!wants.some(([named]) => named === one)) wants.push([one, others]);
  const [language, weight] = wants.sort((a, b) => b[1] - a[1])[0];
  return weight && language === "zh" ? "zh-Hans" : "en";
}
