// The phones of a load: those of a file, those that are bound for it, or those that were seeded.

internal import DispatchRPC
internal import LoadScenarios
internal import SimulatedPhone
internal import TouchstoneClient

struct PhoneFleet: Sendable {
  private enum Common: Sendable {
    case bound([LoadPhone])
    case seeded(SeededPhones)
  }

  private let common: Common
  private let secrets: [LoadPhone]
  private let exclusive: [(phone: LoadPhone, isNew: Bool)]

  init(_ seeded: SeededPhones) {
    (common, secrets, exclusive) = (.seeded(seeded), [], [])
  }

  /// - Parameters:
  ///   - phones: all of the run.
  ///   - newCount: so many at the end are new.
  private init(_ phones: [(LoadPhone, PhoneShare)], newCount: Int) {
    func of(_ share: PhoneShare) -> [LoadPhone] { phones.filter { $0.1 == share }.map(\.0) }
    common = .bound(of(.common))
    secrets = of(.secrets)
    exclusive = phones.enumerated().filter { $0.element.1 == .exclusive }.map { index, phone in
      (phone.0, index >= phones.count - newCount)
    }
  }

  /// Calls take bound phones in turn, and seeded ones at random.
  func phone(_ number: Int, _ share: PhoneShare) -> LoadPhone {
    let phones: [LoadPhone]
    switch (share, common) {
    case (.secrets, _): phones = secrets
    case (_, .bound(let bound)): phones = bound
    case (_, .seeded(let seeded)): return seeded.random()
    }
    return phones[number % phones.count]
  }

  /// The part of one of so many lanes.
  func exclusivePhones(lane: Int, of lanes: Int) -> [ExclusivePhone] {
    stride(from: lane, to: exclusive.count, by: lanes).map { index in
      ExclusivePhone(exclusive[index].phone, isNew: exclusive[index].isNew)
    }
  }

  // MARK: Files

  /// Takes the phones of the file, if there is one, and binds those that are missing.
  ///
  /// - Parameter target: as reports name the service.
  static func gather(
    _ needs: [PhoneShare: Int], _ credential: PhoneCredential, application: String, target: String,
    keys: PublishedKeys?, store: PhoneStore?,
    run: UInt64, _ client: TouchstoneClient
  ) async throws(LoadError) -> PhoneFleet {
    var file = store?.file ?? PhoneFile(application: application, target: target, signingKeys: [])
    var phones: [(LoadPhone, PhoneShare)] = []
    if let store, !file.phones.isEmpty {
      for phone in file.phones {
        guard let key = phone.keyBytes.flatMap({ SoftwareKey(scalar: $0) }) else {
          throw store.error("cannot be used: the key of phone \(phone.bindingID) is none of P-256's")
        }
        phones.append((LoadPhone(key: .p256(key), bindingID: phone.bindingID, profileID: phone.profileID), phone.share))
      }
      try await checkService(of: file, keys, store, target: target, client)
    }
    let missing = file.missing(from: needs)
    guard !missing.isEmpty else { return PhoneFleet(phones, newCount: 0) }
    try store?.reserve()
    let enrolment = Enrolment(application: application, credential: credential, run: run, client: client)
    let (bound, error) = await enrolment.enrol(missing)
    file.target = target
    file.signingKeys = keys?.ids ?? []
    for (phone, share) in bound {
      // A file has no other kind.
      guard case .p256(let key) = phone.key else { continue }
      file.phones.append(
        PhoneFile.Phone(
          key: key.scalar, bindingID: phone.bindingID, profileID: phone.profileID ?? "", share: share))
    }
    // If an error ended the binding, the phones that were bound before are kept.
    if !bound.isEmpty { try store?.write(file) }
    if let error { throw error }
    return PhoneFleet(phones + bound, newCount: bound.count)
  }

  /// The service must know the file's first and last phones: keys rotate, and addresses change.
  private static func checkService(
    of file: PhoneFile, _ keys: PublishedKeys?, _ store: PhoneStore, target: String, _ client: TouchstoneClient
  ) async throws(LoadError) {
    for phone in Set([file.phones[0], file.phones[file.phones.count - 1]]) {
      let isKnown: Bool
      switch try await standing(of: phone, application: file.application, client) {
      case .active: isKnown = true
      case .revoked: throw store.error("cannot be used: the service has revoked its phone \(phone.bindingID)")
      case .unknown: isKnown = false
      case .unreadable: isKnown = keys.map { !Set($0.ids).isDisjoint(with: file.signingKeys) } ?? true
      }
      guard isKnown else {
        throw store.error(
          "is of another service: the one at \(target) does not know its phones, which were bound at \(file.target)")
      }
    }
  }

  private enum Standing {
    case active
    case revoked
    case unknown
    /// This caller may not read bindings.
    case unreadable
  }

  private static func standing(
    of phone: PhoneFile.Phone, application: String, _ client: TouchstoneClient
  ) async throws(LoadError) -> Standing {
    do throws(TouchstoneError) {
      let request = V1.GetBindingRequest(applicationID: application, bindingID: phone.bindingID)
      let binding = try await client.getBinding(request).binding
      guard binding?.profileID == phone.profileID else { return .unknown }
      return binding?.state == .active ? .active : .revoked
    } catch {
      switch error.code {
      case .notFound: return .unknown
      case .permissionDenied, .unauthenticated: return .unreadable
      default: throw .unreachable("a phone's binding could not be read: \(error.code): \(error.message)")
      }
    }
  }
}
