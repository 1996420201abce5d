// The frame of every page: head, menu, sign-out, language and time offset. Pure.

internal import TouchstonePolicy

/// The reader of a page.
struct Reader: Sendable {
  struct SignedIn: Sendable {
    var name: String
    var role: OperatorRole
    /// Stands in each form, and comes back with it.
    var formToken: String
    /// `nil`: all.
    var applications: [String]?
  }

  var language: Language
  /// The page that a change of the language returns to, with its query.
  var path: String
  var signedIn: SignedIn?
  var offset = TimeOffset.utc
  /// When the page was made, in seconds since 1970.
  var now: Int64 = 0
  /// The page's, which the menu's links and the next forms keep.
  var application = ""

  /// What a proxy puts before the console's paths (`ConsoleURL.basePath`).
  var basePath = ""

  /// A path of the console as the browser opens it.
  func link(_ path: String, _ fields: [(String, String)] = []) -> String {
    basePath + ConsoleLink.path(path, fields)
  }
}

enum ConsolePath {
  static let home = "/console"
  static let signIn = "/console/sign-in"
  static let signInPasskey = "/console/sign-in/passkey"
  static let signInOpenID = "/console/sign-in/oidc"
  /// The identity provider sends browsers back to this path, and the cookie of that sign-in is for it alone.
  static let openID = "/console/oidc"
  static let signOut = "/console/sign-out"
  static let account = "/console/account"
  static let accountPassword = "/console/account/password"
  static let accountAdd = "/console/account/passkeys/add"
  static let accountRemove = "/console/account/passkeys/remove"
  static let accountEnd = "/console/account/end"
  static let script = "/console/passkey.js"
  static let language = "/console/language"
  static let offset = "/console/offset"
  static let style = "/console/console.css"
  static let find = "/console/find"
  static let device = "/console/device"
  static let profile = "/console/profile"
  static let action = "/console/action"
  static let events = "/console/events"
  static let export = "/console/events/export"
  static let policies = "/console/policies"
  static let explain = "/console/explain"
  static let health = "/console/health"

  /// Whether an operator without a required passkey may open it.
  static func isOfAccount(_ path: String) -> Bool {
    path == signOut || path == account || path.hasPrefix(account + "/")
  }

  /// Whether a text that came from a link is a page of the console, and leads nowhere else.
  static func isPage(_ text: String) -> Bool {
    guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
    else {
      return false
    }
    let path = text.prefix { $0 != "?" }
    // A browser takes dot segments out, also where they are encoded.
    guard !path.contains("%"), !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      return false
    }
    return path == home || path.hasPrefix(home + "/")
  }
}

struct Page: Sendable {
  /// It may be a name that people gave.
  var title: String
  var content: HTML
  /// The page loads itself again.
  var refreshSeconds: Int?
  /// The page that it loads instead of itself, as the browser opens it.
  var refreshPath: String?
  /// It has a form that asks for a passkey.
  var hasScript = false

  init(_ title: String, refreshSeconds: Int? = nil, refreshPath: String? = nil, _ content: HTML) {
    self.title = title
    self.refreshSeconds = refreshSeconds
    self.refreshPath = refreshPath
    self.content = content
  }

  func html(for reader: Reader) -> HTML {
    let target: HTML? = refreshPath.map { "; url=\($0)" }
    let refresh: HTML? = refreshSeconds.map { "<meta http-equiv=\"refresh\" content=\"\($0)\(target)\">\n" }
    let script: HTML = hasScript ? "<script src=\"\(reader.link(ConsolePath.script))\" defer></script>\n" : ""
    return """
      <!doctype html>
      <html lang="\(reader.language.tag)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      \(refresh)<title>\(title) – \(reader(.product))</title>
      <link rel="stylesheet" href="\(reader.link(ConsolePath.style))">
      \(script)\
      </head>
      <body>
      <a class="skip" href="#main">\(reader(.skip))</a>
      \(header(for: reader))
      <main id="main" tabindex="-1">
      <h1>\(HTML.name(title))</h1>
      \(content)
      </main>
      <footer>
      \(languages(for: reader))
      \(offsets(for: reader))
      </footer>
      </body>
      </html>

      """
  }

  private func header(for reader: Reader) -> HTML {
    """
    <header>
    <p class="product">Touchstone</p>
    \(menu(for: reader))
    <div class="reader">
    \(signOut(for: reader))
    </div>
    </header>
    """
  }

  private func menu(for reader: Reader) -> HTML {
    guard reader.signedIn != nil else { return .empty }
    let entries: [(Phrase, String)] = [
      (.search, ConsolePath.home), (.events, ConsolePath.events), (.policies, ConsolePath.policies),
      (.explain, ConsolePath.explain), (.health, ConsolePath.health),
    ]
    let present = reader.path.prefix { $0 != "?" }
    let links = entries.map { phrase, path -> HTML in
      let mark: HTML = path == present ? " aria-current=\"page\"" : ""
      let fields = reader.application.isEmpty ? [] : [(Form.Field.application, reader.application)]
      return "<li><a href=\"\(reader.link(path, fields))\"\(mark)>\(reader(phrase))</a></li>\n"
    }
    return "<nav aria-label=\"\(reader(.mainMenu))\"><ul>\n\(links)</ul></nav>"
  }

  private func languages(for reader: Reader) -> HTML {
    let links = Language.allCases.map { language -> HTML in
      let name = Texts.of(language)[Phrase.ownName.rawValue] ?? language.tag
      guard language != reader.language else {
        return "<li lang=\"\(language.tag)\"><span aria-current=\"true\">\(name)</span></li>\n"
      }
      let path = reader.link(ConsolePath.language, [("to", language.tag), ("page", reader.path)])
      return "<li lang=\"\(language.tag)\"><a href=\"\(path)\" hreflang=\"\(language.tag)\">\(name)</a></li>\n"
    }
    return "<nav aria-label=\"\(reader(.language))\"><ul>\n\(links)</ul></nav>"
  }

  private func offsets(for reader: Reader) -> HTML {
    let choices = TimeOffset.all.map { (value: "\($0.minutes)", text: $0.name) }
    return """
      <form method="get" action="\(reader.link(ConsolePath.offset))" class="inline">
      \(Form.hidden(Form.Field.page, reader.path))
      \(Form.select("to", reader(.timeOffset), choices, chosen: "\(reader.offset.minutes)"))
      <button class="quiet">\(reader(.show))</button>
      <p>\(reader(.now)) \(reader.point(reader.now)) \(reader.offset.name)</p>
      </form>
      """
  }

  private func signOut(for reader: Reader) -> HTML {
    guard let signedIn = reader.signedIn else { return .empty }
    return """
      <form method="post" action="\(reader.link(ConsolePath.signOut))">
      <a href="\(reader.link(ConsolePath.account))" class="operator">\
      \(HTML.name(reader(.signedInAs, signedIn.name, reader(signedIn.role.phrase))))</a>
      \(Form.token(signedIn))
      <button class="quiet">\(reader(.signOut))</button>
      </form>
      """
  }
}
