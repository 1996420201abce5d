// A form that the console's script completes with what a passkey says. Pure.

/// The options for the browser's dialogue, and what must come back with its answer.
struct PasskeyForm: Sendable {
  enum Field {
    /// The evaluation or the ticket that the options are of.
    static let context = "context"
    /// The sealed first step of a sign-in: the password was right.
    static let proof = "proof"
    static let id = "credential"
    static let authenticator = "authenticator"
    static let client = "client"
    static let signature = "signature"
    static let handle = "handle"
    static let attestation = "attestation"
  }

  /// As WebAuthn's JSON has them.
  var options: String
  var context: String
  var proof: String?
  /// It makes a passkey, and uses none.
  var isNew = false

  /// - Parameters:
  ///   - fields: other fields of the form.
  ///   - button: its text.
  func html(_ reader: Reader, action: String, _ fields: HTML, button: Phrase) -> HTML {
    let answers =
      isNew
      ? [Field.attestation, Field.client]
      : [Field.id, Field.authenticator, Field.client, Field.signature, Field.handle]
    return """
      <form method="post" action="\(reader.link(action))" class="narrow" data-passkey="\(isNew ? "create" : "get")" \
      data-options="\(options)">
      \(fields)
      \(Form.hidden(Field.context, context))
      \(proof.map { Form.hidden(Field.proof, $0) })
      \(answers.map { Form.hidden($0, "") })
      <p class="notice error" role="alert" hidden>\(reader(.passkeyCancelled))</p>
      <noscript><p class="notice error">\(reader(.passkeyNeedsScript))</p></noscript>
      <button>\(reader(button))</button>
      </form>
      """
  }
}
