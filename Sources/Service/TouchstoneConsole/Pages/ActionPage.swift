// Asks for the reason of an action and for a confirmation. Pure.

/// An action that is to be confirmed.
struct ActionView: Sendable {
  var action: ConsoleAction
  var applicationID: String
  var profileID: String
  var target: String
  /// The device's name, as the person or the app gave it.
  var targetName: HTML?
  /// As they were typed before, if something was wrong with them.
  var reason = ""
  var error: String?
}

extension Page {
  static func action(_ reader: Reader, _ view: ActionView) -> Page {
    let back = reader.link(ConsoleLink.profile(view.applicationID, view.profileID))
    let error: HTML? = view.error.map { Form.notice($0, isError: true) }
    var subject: [(String, HTML)] = [
      (reader(.application), HTML.code(view.applicationID)), (reader(.profile), HTML.code(view.profileID)),
    ]
    if let name = view.targetName { subject.append((reader(.device), name)) }
    if view.action.hasTarget {
      subject.append((reader(view.action == .revoke ? .bindingID : .deviceID), HTML.code(view.target)))
    }
    let isErasure = view.action == .erase
    let confirmation: HTML? =
      isErasure
      ? Form.text(Form.Field.confirmation, reader(.typeProfile), attributes: " required maxlength=\"128\"") : nil
    let kind: HTML = view.action.isFinal ? "danger" : ""
    return Page(
      reader(view.action, .title),
      """
      \(error)\(Form.list(subject))
      <p>\(reader(view.action, .consequence))</p>
      <form method="post" action="\(reader.link(ConsolePath.action))" class="narrow">
      \(reader.signedIn.map(Form.token))
      \(Form.hidden(Form.Field.action, view.action.rawValue))
      \(Form.hidden(Form.Field.application, view.applicationID))
      \(Form.hidden(Form.Field.profile, view.profileID))
      \(view.action.hasTarget ? Form.hidden(Form.Field.target, view.target) : HTML.empty)
      \(Form.text(
        Form.Field.reason, reader(.reasonLabel), value: view.reason, hint: isErasure ? reader(.eraseReasonHint) : nil,
        attributes: " required maxlength=\"256\" autofocus"))
      \(confirmation)
      <p class="actions"><button class="\(kind)">\(reader(view.action, .button))</button>
      <a class="button quiet" href="\(back)">\(reader(.cancel))</a></p>
      </form>
      """)
  }
}
