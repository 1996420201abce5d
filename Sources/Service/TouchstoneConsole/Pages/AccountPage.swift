// The operator's own account. Pure.

internal import TouchstoneCodec

struct AccountView: Sendable {
  var notice: Phrase?
  var isError: Bool
  /// The sign-in is recent enough for changes.
  var isFresh: Bool
  var hasPassword = false
  /// Nothing else is served before.
  var needsPasskey = false
  /// `nil`: passkeys are not used, or cannot be read now.
  var passkeys: [V1.Binding]?
  var newPasskey: PasskeyForm?
}

extension Page {
  static func account(_ reader: Reader, _ view: AccountView) -> Page {
    let notice: HTML? = view.notice.map { Form.notice(reader($0), isError: view.isError) }
    let need: HTML? = view.needsPasskey ? Form.notice(reader(.passkeyFirst), isError: true) : nil
    let old: HTML? = view.hasPassword && !view.isFresh ? "<p>\(reader(.signInAgain))</p>\n" : nil
    var page = Page(
      reader(.account),
      """
      \(notice)\(need)\(old)\(passkeys(reader, view))\(password(reader, view))<section class="card" aria-labelledby="sessions">
      <h2 id="sessions">\(reader(.sessions))</h2>
      <form method="post" action="\(reader.link(ConsolePath.accountEnd))">
      \(reader.signedIn.map(Form.token))
      <button class="danger">\(reader(.endSessions))</button>
      </form>
      </section>
      """)
    page.hasScript = view.newPasskey != nil
    return page
  }

  private static func passkeys(_ reader: Reader, _ view: AccountView) -> HTML {
    guard let passkeys = view.passkeys else { return .empty }
    let rows = passkeys.map { passkey -> HTML in
      let name = passkey.deviceName.isEmpty ? reader(.passkey) : passkey.deviceName
      let removal: HTML? =
        view.isFresh
        ? """
        <form method="post" action="\(reader.link(ConsolePath.accountRemove))">
        \(reader.signedIn.map(Form.token))
        \(Form.hidden(Form.Field.target, passkey.bindingID))
        <button class="quiet">\(reader(.removePasskey)) <span class="unseen">\(HTML.name(name))</span></button>
        </form>
        """ : nil
      return """
        <div><dt>\(HTML.name(name))</dt><dd>\(reader(.created)) \(passkey.createdAt.map { reader.time($0.seconds) })
        \(removal)</dd></div>

        """
    }
    let form: HTML? = view.newPasskey.map { form in
      var form = form
      form.isNew = true
      return form.html(
        reader, action: ConsolePath.accountAdd,
        """
        \(reader.signedIn.map(Form.token))
        \(Form.text(Form.Field.name, reader(.passkeyName), attributes: " maxlength=\"64\""))
        """, button: .addPasskey)
    }
    return """
      <section class="card" aria-labelledby="passkeys">
      <h2 id="passkeys">\(reader(.passkeys))</h2>
      <dl>
      \(rows)</dl>
      \(form)
      </section>

      """
  }

  private static func password(_ reader: Reader, _ view: AccountView) -> HTML {
    guard view.hasPassword, view.isFresh else { return .empty }
    return """
      <section class="card" aria-labelledby="change">
      <h2 id="change">\(reader(.changePassword))</h2>
      <form method="post" action="\(reader.link(ConsolePath.accountPassword))" class="narrow">
      \(reader.signedIn.map(Form.token))
      \(Form.password(Form.Field.password, reader(.presentPassword), "current-password"))
      \(Form.password(Form.Field.newPassword, reader(.newPassword), hint: reader(.passwordLength), "new-password"))
      \(Form.password(Form.Field.repeated, reader(.repeatedPassword), "new-password"))
      <button>\(reader(.changePassword))</button>
      </form>
      </section>

      """
  }
}
