// The sign-in, and messages. Pure.

struct SignInView: Sendable {
  /// Shown after the sign-in.
  var page: String
  var notice: String?
  var isError = false
  /// Set if operators sign in by a passkey alone.
  var passkey: PasskeyForm?
  /// The identity provider, and the link that leads to it.
  var provider: (issuer: String, link: String)?
  /// Some operators have passwords or passkeys here.
  var hasAccounts = true
}

extension Page {
  static func signIn(_ reader: Reader, _ view: SignInView) -> Page {
    let notice: HTML? = view.notice.map { Form.notice($0, isError: view.isError) }
    let passkey: HTML? = view.passkey.map { form in
      """
      \(form.html(reader, action: ConsolePath.signInPasskey, Form.hidden(Form.Field.page, view.page), button: .signInByPasskey))
      <h2>\(reader(.firstSignIn))</h2>

      """
    }
    let provider: HTML? = view.provider.map { provider in
      """
      <p><a class="button" href="\(provider.link)">\(reader(.signInByProvider))</a></p>
      <p class="hint">\(HTML.name(provider.issuer))</p>

      """
    }
    var page = Page(
      reader(.signIn),
      "\(notice)\(provider)\(passkey)\(view.hasAccounts ? passwordForm(reader, view) : .empty)")
    page.hasScript = view.passkey != nil
    return page
  }

  private static func passwordForm(_ reader: Reader, _ view: SignInView) -> HTML {
    let focus: HTML = view.passkey == nil && view.provider == nil ? " autofocus" : ""
    return """
      <form method="post" action="\(reader.link(ConsolePath.signIn))" class="narrow">
      \(Form.hidden(Form.Field.page, view.page))
      <div class="field">
      <label for="name">\(reader(.operatorName))</label>
      <input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required\(focus)>
      </div>
      \(Form.password(Form.Field.password, reader(.password), "current-password"))
      <button>\(reader(.signIn))</button>
      </form>
      """
  }

  /// The second step of a sign-in.
  static func passkeyStep(_ reader: Reader, to page: String, _ form: PasskeyForm) -> Page {
    var step = Page(
      reader(.signIn),
      """
      <p>\(reader(.passkeyNext))</p>
      \(form.html(reader, action: ConsolePath.signInPasskey, Form.hidden(Form.Field.page, page), button: .signInByPasskey))
      """)
    step.hasScript = true
    return step
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
