// Parts of forms and lists, with what makes them usable by keyboard and screen reader. Pure.

enum Form {
  /// The names of hidden fields.
  enum Field {
    static let token = "token"
    static let page = "page"
    static let action = "action"
    static let application = "application"
    static let profile = "profile"
    /// An id to search for.
    static let text = "text"
    static let prefix = "prefix"
    static let device = "device"
    static let target = "target"
    static let reason = "reason"
    static let confirmation = "confirmation"
    static let name = "name"
    static let password = "password"
    static let newPassword = "new"
    static let repeated = "repeated"
  }

  static func token(_ signedIn: Reader.SignedIn) -> HTML { hidden(Field.token, signedIn.formToken) }

  static func hidden(_ name: String, _ value: String) -> HTML {
    "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
  }

  /// A line of text with its label.
  ///
  /// - Parameter attributes: of the input.
  static func text(
    _ name: String, _ label: String, value: String = "", hint: String? = nil, attributes: HTML = ""
  ) -> HTML {
    let described: HTML = hint == nil ? "" : " aria-describedby=\"\(name)-hint\""
    let hint: HTML? = hint.map { "<p class=\"hint\" id=\"\(name)-hint\">\($0)</p>\n" }
    return """
      <div class="field">
      <label for="\(name)">\(label)</label>
      \(hint)<input id="\(name)" name="\(name)" value="\(value)" autocomplete="off" autocapitalize="none" spellcheck="false"\
      \(described)\(attributes)>
      </div>
      """
  }

  /// - Parameter autocomplete: tells password managers which one it is.
  static func password(_ name: String, _ label: String, hint: String? = nil, _ autocomplete: String) -> HTML {
    let described: HTML = hint == nil ? "" : " aria-describedby=\"\(name)-hint\""
    let hint: HTML? = hint.map { "<p class=\"hint\" id=\"\(name)-hint\">\($0)</p>\n" }
    return """
      <div class="field">
      <label for="\(name)">\(label)</label>
      \(hint)<input id="\(name)" name="\(name)" type="password" autocomplete="\(autocomplete)" required\(described)>
      </div>
      """
  }

  static func select(_ name: String, _ label: String, _ options: [(value: String, text: String)], chosen: String)
    -> HTML
  {
    let options = options.map { option -> HTML in
      let mark: HTML = option.value == chosen ? " selected" : ""
      return "<option value=\"\(option.value)\"\(mark)>\(option.text)</option>\n"
    }
    return """
      <div class="field">
      <label for="\(name)">\(label)</label>
      <select id="\(name)" name="\(name)">
      \(options)</select>
      </div>
      """
  }

  static func check(_ name: String, _ label: String, isChecked: Bool) -> HTML {
    let mark: HTML = isChecked ? " checked" : ""
    return """
      <div class="check"><input type="checkbox" id="\(name)" name="\(name)" value="yes"\(mark)> \
      <label for="\(name)">\(label)</label></div>
      """
  }

  /// The application: a choice if the operator has some alone, otherwise a text.
  static func application(_ reader: Reader, chosen: String, known: [String], isRequired: Bool = true) -> HTML {
    let chosen = chosen.isEmpty && isRequired && known.count == 1 ? known[0] : chosen
    if let own = reader.signedIn?.applications {
      return select(Field.application, reader(.application), own.map { ($0, $0) }, chosen: chosen)
    }
    let list = known.map { application -> HTML in "<option value=\"\(application)\"></option>\n" }
    let required: HTML = isRequired ? " required" : ""
    return """
      \(text(Field.application, reader(.application), value: chosen, attributes: " list=\"applications\"\(required)"))
      <datalist id="applications">
      \(list)</datalist>
      """
  }

  /// A notice that a screen reader reads out at once.
  static func notice(_ text: String, isError: Bool = false) -> HTML {
    isError
      ? "<p class=\"notice error\" role=\"alert\">\(text)</p>\n" : "<p class=\"notice\" role=\"status\">\(text)</p>\n"
  }

  /// Names and values.
  ///
  /// - Parameter isWide: in columns, where there is room.
  static func list(_ entries: [(String, HTML)], isWide: Bool = false) -> HTML {
    let rows = entries.map { name, value -> HTML in "<div><dt>\(name)</dt><dd>\(value)</dd></div>\n" }
    return "<dl\(isWide ? " class=\"facts\"" : HTML.empty)>\n\(rows)</dl>"
  }
}
