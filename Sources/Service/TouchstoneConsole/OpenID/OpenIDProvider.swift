// Calls the identity provider: its description, its keys, and the exchange of a code (RFC 6749 §4.1.3).

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneAttestation
internal import TouchstoneCrypto
package import TouchstoneService

/// The provider as this process knows it. Calls block threads of the executor, which nothing else uses.
package final class OpenIDProvider: Sendable {
  struct Failure: Error {
    /// For the log.
    var reason: String
    /// The provider gave an answer, and it does not hold. Otherwise it is down, or too many wait for it.
    var isRefusal = false
  }

  /// Description and keys are read again after this time.
  private static let lifetime = Duration.seconds(60 * 60)
  /// After a failure, or for a key that is not known: strangers cannot make this process call more often.
  private static let pause = Duration.seconds(10)
  /// Each is a person who waits.
  private static let maximumWaiting = 16

  private struct Known<Value: Sendable>: Sendable {
    var value: Value?
    var readAt: MonotonicTime
  }

  private struct State {
    var waiting = 0
    var description: Known<ProviderDescription>?
    var keys: Known<ProviderKeys>?
  }

  let settings: OpenIDSettings
  /// Logs why a sign-in failed.
  let noteFailure: @Sendable (String) -> Void
  private let executor: any SecretExecutor
  private let state = Mutex(State())

  /// - Parameter executor: its threads wait for the provider.
  package init(
    _ settings: OpenIDSettings, executor: any SecretExecutor, noteFailure: @escaping @Sendable (String) -> Void
  ) {
    (self.settings, self.executor, self.noteFailure) = (settings, executor, noteFailure)
  }

  // MARK: What it publishes

  func description() async throws(Failure) -> ProviderDescription {
    let issuer = settings.issuer
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    return try await known(\.description, "its description", base + "/.well-known/openid-configuration") {
      ProviderDescription($0, of: issuer)
    }
  }

  /// - Parameter isStale: a token is of a key that is not among them.
  private func keys(of description: ProviderDescription, isStale: Bool) async throws(Failure) -> ProviderKeys {
    try await known(\.keys, "its keys", isStale: isStale, description.keysURL) { ProviderKeys($0) }
  }

  private func known<Value: Sendable>(
    _ place: any WritableKeyPath<State, Known<Value>?> & Sendable, _ name: String, isStale: Bool = false,
    _ url: String, _ read: @escaping @Sendable ([UInt8]) -> Value?
  ) async throws(Failure) -> Value {
    if let fresh = fresh(place, name, isStale) { return try fresh.get() }
    return try await onThread { [self] in
      // Another person's sign-in may have read it while this one waited.
      if let fresh = fresh(place, name, isStale) { return fresh }
      let answer = fetch(url)
      let value = try? answer.get()
      let taken = value.flatMap(read)
      state.withLock { $0[keyPath: place] = Known(value: taken, readAt: .now()) }
      if let taken { return .success(taken) }
      return answer.flatMap { _ in .failure(Failure(reason: "\(name) at \(url) does not hold", isRefusal: true)) }
    }.get()
  }

  /// `nil`: it is to be read.
  private func fresh<Value: Sendable>(
    _ place: any WritableKeyPath<State, Known<Value>?> & Sendable, _ name: String, _ isStale: Bool
  ) -> Result<Value, Failure>? {
    guard let known = state.withLock({ $0[keyPath: place] }) else { return nil }
    let age = known.readAt.duration(to: .now())
    if let value = known.value { return age < (isStale ? Self.pause : Self.lifetime) ? .success(value) : nil }
    return age < Self.pause ? .failure(Failure(reason: "\(name) could not be read a moment ago")) : nil
  }

  // MARK: A code

  /// Returns the judged token that the provider gives for the code.
  func redeem(
    code: String, verifier: String, redirect: String, nonce: String, at now: Int64
  ) async throws(Failure) -> IDToken {
    let description = try await description()
    var form = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect), ("code_verifier", verifier),
    ]
    var fields: [(name: String, value: String)] = [("Accept", "application/json")]
    let secret = settings.clientSecret.withBytes { String(decoding: $0, as: UTF8.self) }
    if description.takesBasicAuthentication {
      // RFC 6749 §2.3.1: both are encoded as in a form.
      let pair = "\(FormFields.encode(settings.clientID)):\(FormFields.encode(secret))"
      fields.append(("Authorization", "Basic \(Base64.encode(Array(pair.utf8), isPadded: true))"))
    } else {
      form += [("client_id", settings.clientID), ("client_secret", secret)]
    }
    let body = form.map { "\(FormFields.encode($0.0))=\(FormFields.encode($0.1))" }.joined(separator: "&")
    let answer = try await onThread { [self, fields] in
      fetch(description.tokenEndpoint, fields, Array(body.utf8))
    }.get()
    guard let token = TokenAnswer.idToken(in: answer) else {
      throw Failure(reason: "the token endpoint's answer has no ID token", isRefusal: true)
    }
    return try await judge(token, description, nonce, at: now, isStale: false)
  }

  /// Once more with new keys, if the provider may have changed them.
  private func judge(
    _ token: String, _ description: ProviderDescription, _ nonce: String, at now: Int64, isStale: Bool
  ) async throws(Failure) -> IDToken {
    let keys = try await keys(of: description, isStale: isStale)
    do throws(IDToken.Refusal) {
      return try IDToken(token, keys: keys, settings.expectation(nonce: nonce), at: now)
    } catch {
      guard error.isOfUnknownKey, !isStale else {
        throw Failure(reason: "the ID token does not hold: \(error.reason)", isRefusal: true)
      }
      return try await judge(token, description, nonce, at: now, isStale: true)
    }
  }

  // MARK: Calls

  /// A person who waited for a thread as long as for an answer waits no longer.
  private func onThread<Value: Sendable>(
    _ work: @escaping @Sendable () -> Result<Value, Failure>
  ) async -> Result<Value, Failure> {
    let mayWait = state.withLock { state in
      guard state.waiting < Self.maximumWaiting else { return false }
      state.waiting += 1
      return true
    }
    guard mayWait else { return .failure(Failure(reason: "too many wait for the provider")) }
    let beganAt = MonotonicTime.now()
    return await withCheckedContinuation { continuation in
      executor.run { [self] in
        let isLate = beganAt.duration(to: .now()) >= HTTPSClient.timeout
        let result = isLate ? .failure(Failure(reason: "others waited for the provider")) : work()
        state.withLock { $0.waiting -= 1 }
        continuation.resume(returning: result)
      }
    }
  }

  /// Blocks.
  private func fetch(
    _ text: String, _ fields: [(name: String, value: String)] = [], _ body: [UInt8]? = nil
  ) -> Result<[UInt8], Failure> {
    guard let url = HTTPSURL(text) else {
      return .failure(Failure(reason: "a URL of the provider's is no https URL", isRefusal: true))
    }
    do throws(HTTPSClient.Failure) {
      let answer = try settings.client.send(to: url, fields: fields, body: body)
      guard answer.status == 200 else {
        return .failure(Failure(reason: "\(url) answers \(answer.status)", isRefusal: answer.status < 500))
      }
      return .success(answer.body)
    } catch {
      return .failure(Failure(reason: "\(url): \(error.reason)"))
    }
  }
}
