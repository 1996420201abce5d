// Events as a table, on a page of their own and in a profile's timeline. Pure.

internal import TouchstoneCodec
internal import TouchstoneService

struct EventsView: Sendable {
  var search: EventSearch
  /// `nil`: the form is wrong.
  var list: EventList?
  /// The page loads itself again.
  var isFollowing: Bool
  var known: [String]
  /// Events of all applications and of none may be seen.
  var seesAllApplications: Bool
  var error: String?
}

extension Page {
  /// Each load of the page is one call of ListEvents, and reading it takes a person longer.
  static let followSeconds = 5

  static func events(_ reader: Reader, _ view: EventsView) -> Page {
    let error: HTML? = view.error.map { Form.notice($0, isError: true) }
    return Page(
      reader(.events), refreshSeconds: view.isFollowing ? followSeconds : nil,
      """
      \(error)\(eventForm(reader, view))
      \(view.list.map { eventList(reader, view, $0) })
      """)
  }

  private static func eventForm(_ reader: Reader, _ view: EventsView) -> HTML {
    let search = view.search
    let kinds = EventKinds.groups.map { ($0, "\($0)*") } + EventKinds.all.map { ($0, $0) }
    let texts: [(String, Phrase, HTML)] = [
      (Form.Field.profile, .profile, ""), (Form.Field.device, .deviceID, ""), ("binding", .bindingID, ""),
      ("caller", .caller, ""), ("reason", .reason, ""), ("since", .since, " type=\"datetime-local\""),
      ("until", .until, " type=\"datetime-local\""),
    ]
    return """
      <form method="get" action="\(reader.link(ConsolePath.events))" class="inline">
      \(applications(reader, view))
      \(Form.select("kind", reader(.kind), [("", reader(.allKinds))] + kinds, chosen: search["kind"]))
      \(texts.map { Form.text($0, reader($1), value: search[$0], attributes: $2) })
      <button>\(reader(.show))</button>
      </form>
      """
  }

  private static func eventList(_ reader: Reader, _ view: EventsView, _ list: EventList) -> HTML {
    let fields = view.search.fields
    func link(_ path: String, _ more: [(String, String)], _ text: Phrase) -> HTML {
      "<a class=\"button quiet\" href=\"\(reader.link(path, fields + more))\">\(reader(text))</a>\n"
    }
    let following: HTML =
      view.isFollowing
      ? "<p>\(reader(.following)) \(link(ConsolePath.events, [], .stopFollowing))</p>"
      : "<p>\(link(ConsolePath.events, [("follow", "yes")], .follow))</p>"
    let first = view.search.before == nil ? nil : link(ConsolePath.events, [], .newest)
    let last =
      list.hasEarlier ? link(ConsolePath.events, [("before", "\(list.searched.lowerBound)")], .earlier) : nil
    return """
      \(following)
      \(eventTable(reader, list.events, showsProfile: true))
      \(searched(reader, list.searched))
      \(archived(reader, list))
      <p class="actions">\(first)\(last)\(link(ConsolePath.export, [("form", "csv")], .exportCSV))\
      \(link(ConsolePath.export, [("form", "json")], .exportJSON))</p>
      """
  }

  /// Nothing for a log without events.
  private static func searched(_ reader: Reader, _ numbers: ClosedRange<UInt64>) -> HTML? {
    numbers.upperBound == 0
      ? nil : "<p class=\"hint\">\(reader(.eventWindow, "\(numbers.lowerBound)", "\(numbers.upperBound)"))</p>"
  }

  /// The place of the events before the log's first, which no page of the console has.
  static func archived(_ reader: Reader, _ list: EventList) -> HTML? {
    list.archivedThrough == 0 ? nil : "<p class=\"hint\">\(reader(.archivedEvents, "\(list.archivedThrough)"))</p>"
  }

  private static func applications(_ reader: Reader, _ view: EventsView) -> HTML {
    Form.application(
      reader, chosen: view.search[Form.Field.application], known: view.known, isRequired: !view.seesAllApplications)
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
    return """
      \(profileLink(reader, event.applicationID, event.profileID)) \
      <span class="hint line">\(HTML.name(event.applicationID))</span>
      """
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
