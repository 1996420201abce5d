// Binds new phones, many at a time, and sets the secrets of their owners.

internal import LoadScenarios
internal import TouchstoneClient

struct Enrolment: Sendable {
  let application: String
  let credential: PhoneCredential
  /// Names what this run binds.
  let run: UInt64
  let client: TouchstoneClient

  /// Bindings wait for the store's commits. A service judges two passkeys at a time and lets 51 more of one caller
  /// wait. A secret takes a service some 20 ms of a core, so more at a time only wait.
  private func parallel(_ share: PhoneShare) -> Int {
    guard share == .common else { return 8 }
    return credential == .passkey ? 32 : 64
  }

  /// Returns the phones that were bound and, if that is not all of them, why.
  func enrol(_ missing: [PhoneShare: Int]) async -> (phones: [(LoadPhone, PhoneShare)], error: LoadError?) {
    var phones: [(LoadPhone, PhoneShare)] = []
    for share in PhoneShare.allCases {
      let (some, error) = await enrol(missing[share] ?? 0, share)
      phones += some.map { ($0, share) }
      if let error { return (phones, error) }
    }
    return (phones, nil)
  }

  private func enrol(_ count: Int, _ share: PhoneShare) async -> (phones: [LoadPhone], error: LoadError?) {
    await withTaskGroup(of: Result<LoadPhone, LoadError>.self) { group in
      var begun = min(count, parallel(share))
      for index in 0..<begun { group.addTask { await enrol(index, share) } }
      var phones: [LoadPhone] = []
      var firstError: LoadError?
      while let result = await group.next() {
        switch result {
        case .success(let phone): phones.append(phone)
        case .failure(let error): firstError = firstError ?? error
        }
        guard begun < count, firstError == nil else { continue }
        let index = begun
        begun += 1
        group.addTask { await enrol(index, share) }
      }
      return (phones, firstError)
    }
  }

  private func enrol(_ index: Int, _ share: PhoneShare) async -> Result<LoadPhone, LoadError> {
    let name = "load-\(run)-\(share.rawValue)-\(index)"
    do throws(TouchstoneError) {
      let phone = try await LoadPhone.bind(credential, application: application, name: name, client)
      for secret in secrets(of: share) {
        try await LoadPhone.set(secret, application: application, profileID: name, client)
      }
      return .success(phone)
    } catch {
      return .failure(.unreachable("a phone could not be bound: \(error.code): \(error.message)"))
    }
  }

  private func secrets(of share: PhoneShare) -> [V1.Secret] {
    let passcode = V1.Secret(kind: .passcode(LoadPhone.passcode))
    return switch share {
    case .common: []
    case .secrets: [passcode, V1.Secret(kind: .gesture(LoadPhone.gesture))]
    case .exclusive: [passcode]
    }
  }
}
