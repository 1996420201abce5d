// The sign-in, and messages. Pure.

extension Page {
  /// - Parameters:
  ///   - page: shown after the sign-in.
  ///   - name: as it was typed before.
  static func signIn(_ reader: Reader, to page: String, notice: String? = nil, isError: Bool = false) -> Page {
    let notice: HTML? = notice.map { Form.notice($0, isError: isError) }
    return Page(
      reader(.signIn),
      """
      \(notice)<form method="post" action="\(reader.link(ConsolePath.signIn))" class="narrow">
      \(Form.hidden(Form.Field.page, page))
      <div class="field">
      <label for="name">\(reader(.operatorName))</label>
      <input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus>
      </div>
      <div class="field">
      <label for="password">\(reader(.password))</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required>
      </div>
      <button>\(reader(.signIn))</button>
      </form>
      """)
  }

  /// Opens the page once more, as a link of this page: after a link of another site the browser left the session's
  /// cookie out.
  static func repetition(_ reader: Reader) -> Page {
    let separator = reader.path.contains("?") ? "&" : "?"
    let path = reader.link(reader.path + separator + ConsoleLink.repeated)
    return Page(
      reader(.opening), refreshSeconds: 0, refreshPath: path,
      "<p><a href=\"\(path)\">\(reader(.continueToPage))</a></p>\n")
  }

  /// A refusal, or another end of the road.
  static func message(_ reader: Reader, _ title: Phrase, _ sentences: [String], back: (Phrase, String)? = nil) -> Page {
    let text = sentences.map { sentence -> HTML in "<p>\(sentence)</p>\n" }
    let link: HTML? = back.map { "<p><a href=\"\(reader.link($0.1))\">\(reader($0.0))</a></p>\n" }
    return Page(reader(title), "<div class=\"notice error\" role=\"alert\">\n\(text)</div>\n\(link)")
  }
}
