// Events as a table, on a page of their own and in a profile's timeline. Pure.

internal import TouchstoneCodec

struct EventsView: Sendable {
  var search: EventSearch
  var list: EventList
  /// The page loads itself again.
  var isFollowing: Bool
  var known: [String]
  /// Events of all applications and of none may be seen.
  var seesAllApplications: Bool
}

extension Page {
  /// Each load of the page is one call of ListEvents, and reading it takes a person longer.
  static let followSeconds = 5

  static func events(_ reader: Reader, _ view: EventsView) -> Page {
    let search = view.search
    var fields: [(String, String)] = []
    if !search.applicationID.isEmpty { fields.append((Form.Field.application, search.applicationID)) }
    if !search.profileID.isEmpty { fields.append((Form.Field.profile, search.profileID)) }
    if !search.kindPrefix.isEmpty { fields.append(("kind", search.kindPrefix)) }
    let earlier = reader.link(ConsolePath.events, fields + [("before", "\(view.list.searched.lowerBound)")])
    let newest = reader.link(ConsolePath.events, fields)
    let follow = reader.link(ConsolePath.events, fields + [("follow", "yes")])
    let following: HTML =
      view.isFollowing
      ? "<p>\(reader(.following)) <a class=\"button quiet\" href=\"\(newest)\">\(reader(.stopFollowing))</a></p>"
      : "<p><a class=\"button quiet\" href=\"\(follow)\">\(reader(.follow))</a></p>"
    let kinds: [(value: String, text: String)] = [("", reader(.allKinds))] + EventKinds.groups.map { ($0, "\($0)*") }
    let first: HTML? =
      search.before == nil ? nil : "<a class=\"button quiet\" href=\"\(newest)\">\(reader(.newest))</a>\n"
    let last: HTML? =
      view.list.hasEarlier ? "<a class=\"button quiet\" href=\"\(earlier)\">\(reader(.earlier))</a>\n" : nil
    return Page(
      reader(.events), refreshSeconds: view.isFollowing ? followSeconds : nil,
      """
      <form method="get" action="\(reader.link(ConsolePath.events))" class="inline">
      \(applications(reader, view))
      \(Form.text(Form.Field.profile, reader(.profile), value: search.profileID, attributes: " maxlength=\"128\""))
      \(Form.select("kind", reader(.kind), kinds, chosen: search.kindPrefix))
      <button>\(reader(.show))</button>
      </form>
      \(following)
      \(eventTable(reader, view.list.events, showsProfile: true))
      <p class="hint">\(reader(.eventWindow, "\(view.list.searched.lowerBound)", "\(view.list.searched.upperBound)"))</p>
      \(archived(reader, view.list))
      <p class="actions">\(first)\(last)</p>
      """)
  }

  /// The place of the events before the log's first, which no page of the console has.
  static func archived(_ reader: Reader, _ list: EventList) -> HTML? {
    list.archivedThrough == 0 ? nil : "<p class=\"hint\">\(reader(.archivedEvents, "\(list.archivedThrough)"))</p>"
  }

  private static func applications(_ reader: Reader, _ view: EventsView) -> HTML {
    Form.application(
      reader, chosen: view.search.applicationID, known: view.known, isRequired: !view.seesAllApplications)
  }

  /// A table whose rows become cards where it is narrow: each cell names its column.
  static func eventTable(_ reader: Reader, _ events: [V1.Event], showsProfile: Bool) -> HTML {
    guard !events.isEmpty else { return "<p>\(reader(.noEvents))</p>" }
    var columns: [Phrase] = [.number, .time, .event]
    if showsProfile { columns.append(.profile) }
    columns += [.caller, .details]
    let isLong = columns.map { [Phrase.profile, .caller, .details].contains($0) }
    let heads = zip(columns, isLong).map { column, isLong -> HTML in
      "<th scope=\"col\"\(isLong ? " class=\"long\"" : HTML.empty)>\(reader(column))</th>"
    }
    let rows = events.map { event -> HTML in
      let cells = zip(columns, isLong).map { column, isLong -> HTML in
        "<td data-label=\"\(reader(column))\"\(isLong ? " class=\"long\"" : HTML.empty)><div>"
      }
      var values: [HTML] = [
        "\(event.sequence)", event.time.map { reader.time($0.seconds) } ?? "–", kind(reader, event),
      ]
      if showsProfile { values.append(profile(reader, event)) }
      values += [event.caller.isEmpty ? "–" : HTML.name(event.caller), details(reader, event)]
      return "<tr>\(zip(cells, values).map { cell, value -> HTML in "\(cell)\(value)</div></td>" })</tr>\n"
    }
    return """
      <table class="events">
      <thead><tr>\(heads)</tr></thead>
      <tbody>
      \(rows)</tbody>
      </table>
      """
  }

  private static func kind(_ reader: Reader, _ event: V1.Event) -> HTML {
    guard !event.kind.isEmpty else { return "\(reader(.erasedEvent))" }
    guard let meaning = reader.eventKind(event.kind) else { return HTML.code(event.kind) }
    return "\(meaning) <span class=\"hint\">\(event.kind)</span>"
  }

  private static func profile(_ reader: Reader, _ event: V1.Event) -> HTML {
    guard !event.applicationID.isEmpty else { return "–" }
    guard !event.profileID.isEmpty else { return HTML.name(event.applicationID) }
    let path = reader.link(
      ConsolePath.profile, [(Form.Field.application, event.applicationID), (Form.Field.profile, event.profileID)])
    return
      "<a href=\"\(path)\">\(HTML.name(event.profileID))</a> <span class=\"hint line\">\(HTML.name(event.applicationID))</span>"
  }

  /// Reason first, then all others by their names.
  private static func details(_ reader: Reader, _ event: V1.Event) -> HTML {
    let reason = event.details["reason"].map { reason -> HTML in
      reader.attempt(reason).map { "\($0) <span class=\"hint\">\(reason)</span>" } ?? HTML.code(reason)
    }
    let stated = event.details["stated_reason"].map { text -> HTML in "<q>\(HTML.name(text))</q>" }
    let others = event.details.keys.filter { $0 != "reason" && $0 != "stated_reason" && !$0.hasPrefix("erased_") }
      .sorted()
    let rest = others.map { key -> HTML in
      "<span class=\"detail\">\(key): \(HTML.name(event.details[key] ?? ""))</span> "
    }
    return "\(reason) \(stated) \(rest)"
  }
}
