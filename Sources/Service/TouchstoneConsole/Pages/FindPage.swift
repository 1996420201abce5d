// The search for a profile, and the profiles of a device. Pure.

internal import TouchstoneCodec
internal import TouchstonePolicy

struct FindView: Sendable {
  /// Applications that the configuration names.
  var known: [String]
  /// The operator may search by any id. Otherwise the form asks for a profile's whole id, which lists no people.
  var maySearch: Bool
  /// As it was typed.
  var text = ""
  var isPrefix = false
  var found = V1.FindProfilesResponse()
  var notices: [String] = []
  var error: String?
}

extension Page {
  static func find(_ reader: Reader, _ view: FindView) -> Page {
    let maySearch = view.maySearch
    let error: HTML? = view.error.map { Form.notice($0, isError: true) }
    // A longer text is refused, and not cut to another one.
    let limit = (maySearch ? SearchText.maximumBytes : Identifier.maximumBytes) + 1
    let prefix: HTML? =
      maySearch ? Form.check(Form.Field.prefix, reader(.searchPrefix), isChecked: view.isPrefix) : nil
    let links = view.found.profiles.map { found -> HTML in
      "<li>\(profileLink(reader, reader.application, found.profileID))</li>\n"
    }
    return Page(
      reader(.findProfile),
      """
      \(view.notices.map { Form.notice($0) })\(error)<form method="get" \
      action="\(reader.link(maySearch ? ConsolePath.find : ConsolePath.profile))" class="narrow" role="search">
      \(Form.application(reader, chosen: reader.application, known: view.known))
      \(Form.text(
        maySearch ? Form.Field.text : Form.Field.profile, reader(maySearch ? .searchText : .profile), value: view.text,
        hint: reader(maySearch ? .searchHint : .profileHint), attributes: " required maxlength=\"\(limit)\""))
      \(prefix)
      <button>\(reader(.find))</button>
      </form>
      \(links.isEmpty ? HTML.empty : "<h2>\(reader(.found))</h2>\n<ul>\n\(links)</ul>")
      \(view.found.hasMore ? "<p>\(reader(.moreFound))</p>" : HTML.empty)
      """)
  }

  /// - Parameter holders: the profiles, each with its application.
  static func device(_ reader: Reader, _ deviceID: String, _ holders: [(String, V1.FoundProfile)]) -> Page {
    let items = holders.map { application, holder -> HTML in
      """
      <li>\(profileLink(reader, application, holder.profileID)) · \(reader(.application)) \(HTML.code(application)) · \
      \(reader(.bindingID)) \(HTML.code(holder.bindingID))</li>

      """
    }
    let list: HTML = items.isEmpty ? "<p>\(reader(.deviceUnbound))</p>" : "<ul>\n\(items)</ul>"
    return Page(
      deviceID,
      """
      <p class="sub">\(reader(.device))</p>
      <h2>\(reader(.deviceProfiles))</h2>
      \(list)
      """)
  }

  static func profileLink(_ reader: Reader, _ application: String, _ profile: String) -> HTML {
    "<a href=\"\(reader.link(ConsoleLink.profile(application, profile)))\">\(HTML.name(profile))</a>"
  }
}
