// The policies in force, with every setting that has an effect. Pure.

internal import TouchstonePolicy

extension Page {
  static func policies(_ reader: Reader, _ policies: [EvaluationPolicy]) -> Page {
    let cards = policies.map { policy -> HTML in
      let rows = PolicySetting.all.compactMap { setting -> (String, HTML)? in
        setting.printed(of: policy).map { (setting.key, value($0)) }
      }
      let explain = reader.link(ConsolePath.explain, [("policy", policy.name)])
      return """
        <article class="card">
        <h2>\(HTML.name(policy.name))</h2>
        \(Form.list(rows))
        <p class="actions"><a class="button quiet" href="\(explain)">\(reader(.tryPolicy))\
        <span class="unseen"> \(HTML.name(policy.name))</span></a></p>
        </article>

        """
    }
    return Page(reader(.policies), "<div class=\"cards wide\">\n\(cards)</div>")
  }

  private static func value(_ setting: PrintedSetting) -> HTML {
    switch setting {
    case .word(let word): return HTML.name(word)
    case .text(let text): return "<q>\(HTML.name(text))</q>"
    case .list(let words): return "\(words.joined(separator: ", "))"
    case .mapping(let entries): return "\(line(entries))"
    case .mappings(let rows): return "\(rows.map { row -> HTML in "<span class=\"line\">\(line(row))</span>" })"
    }
  }

  private static func line(_ entries: [(name: String, word: String)]) -> String {
    entries.map { "\($0.name): \($0.word)" }.joined(separator: ", ")
  }
}
