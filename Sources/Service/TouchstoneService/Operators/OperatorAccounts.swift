// Operators' accounts in the store. The console is a customer of the service: an application that no caller can name
// has a profile for each operator, and its bindings are their passkeys.

package import DispatchRPC
package import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// What the store has of an operator's account, at one moment.
package struct OperatorAccount: Sendable {
  /// Rises with each change that ends the account's sessions; 0: there was none yet.
  package let epoch: Int64
  /// The digest of what entitles to the account in the configuration, when the record was written; empty: there is no
  /// record. A record of another one no longer counts.
  package let basis: [UInt8]
  /// The password that the operator chose; `nil`: the configuration's.
  package let password: PasswordHash?
  package let passkeyCount: Int
  /// The key that was asked about was used up.
  package let isUsedUp: Bool

  package static let basisBytes = 32

  init(_ records: EnrolmentRecords) {
    let secret = records.profile.passcode
    let verifier = secret?.verifier ?? []
    epoch = secret?.setAt.microseconds ?? 0
    basis = Array(verifier.prefix(Self.basisBytes))
    password = try? PasswordHash(parsing: String(decoding: verifier.dropFirst(Self.basisBytes), as: UTF8.self))
    passkeyCount = records.activeBindingCount
    isUsedUp = records.isTicketUsed
  }
}

/// A change of an account that ends its sessions. Its name stands in the event.
package enum OperatorChange: Sendable {
  case sessionsEnded
  case passwordChanged(PasswordHash)
  case passkeyRemoved(bindingID: String)
  /// Everything that rested on another basis goes: passkeys, and the operator's own password.
  case reset

  fileprivate var auditName: String {
    switch self {
    case .sessionsEnded: "sessions_ended"
    case .passwordChanged: "password_changed"
    case .passkeyRemoved: "passkey_removed"
    case .reset: "reset"
    }
  }
}

package enum OperatorRecording: Sendable {
  case written
  /// One of the keys was used up before.
  case usedUp
  /// The store does not answer.
  case failed
}

extension TouchstoneService {
  /// Called by the console after a client tried to get in. It becomes an event like a refused call, throttled.
  ///
  /// - Parameters:
  ///   - caller: whose session it was; `nil`: the client proved nothing.
  ///   - claimedOperator: an operator of the configuration, whose name the client gave.
  package func refuseOperator(
    _ refusal: AccessRefusal, _ caller: IdentifiedCaller?, claimedOperator: String? = nil, by peer: RPCPeer
  ) {
    access.refuseOperator(
      refusal, caller?.grants.caller, claimedOperator: claimedOperator, by: peer)
  }

  /// Writes that an operator signed in or out, and uses up the keys with it. Returns when the event is durable.
  package func record(
    _ occasion: OperatorOccasion, of caller: IdentifiedCaller, _ details: [(key: String, value: String)] = [],
    usingUp keys: [ConsoleKey] = [], by peer: RPCPeer
  ) async -> OperatorRecording {
    let event = EventDraft.operatorEvent(occasion, caller.grants.caller, by: peer, details, time: clock())
    return await commit(ChangeSet(changes: keys.map { .useTicket($0.key) }, events: [event]))
  }

  /// Returns when the key serves no more, on any replica.
  package func useUp(_ key: ConsoleKey) async {
    _ = await commit(ChangeSet(changes: [.useTicket(key.key)]))
  }

  private func commit(_ changeSet: ChangeSet) async -> OperatorRecording {
    switch await storeResult(of: { store.commit(changeSet, completion: $0) }) {
    case .success: return .written
    case .failure(let error) where error.code == .conflict: return .usedUp
    case .failure:
      storeFailed()
      return .failed
    }
  }

  /// An operator's own password as it is hashed: a stolen database alone verifies no guess at it.
  package func peppered(_ password: SecretBytes) -> SecretBytes {
    SecretBytes(pepper.digest(of: password.withBytes { Array($0) }, purpose: "operator's own password"))
  }

  /// - Parameters:
  ///   - id: one that no operator has is read alike.
  ///   - key: of which it is asked whether it was used up.
  package func operatorAccount(_ id: String, _ key: ConsoleKey? = nil) async -> OperatorAccount? {
    let ticket = key?.key ?? newKey(expiresAt: clock())
    let records = await storeResult {
      store.enrolmentRecords(
        applicationID: ApplicationID.console, profileID: id, deviceID: "", vendor: .everybody, ticket: ticket,
        completion: $0)
    }
    if case .success(let records) = records { return OperatorAccount(records) }
    storeFailed()
    return nil
  }

  /// Changes the account, and ends all of its sessions. Returns the account as it is then; `nil`: it was not changed.
  package func changeOperator(
    _ change: OperatorChange, of id: String, basis: [UInt8], by caller: IdentifiedCaller, from peer: RPCPeer
  ) async -> OperatorAccount? {
    for _ in DecisionRound.all {
      let read = await storeResult {
        store.holderRecords(applicationID: ApplicationID.console, profileID: id, completion: $0)
      }
      guard var profile = try? read.get().profile, let passkeys = await passkeys(ofOperator: id) else { break }
      let now = clock()
      // The first sign-in resets nothing, so its event has another name.
      let name = if case .reset = change, profile.passcode == nil { "first_sign_in" } else { change.auditName }
      var changeSet = ChangeSet(events: [
        .operatorEvent(.changed, caller.grants.caller, by: peer, [("change", name)], time: now)
      ])
      var verifier = profile.passcode?.verifier ?? basis
      switch change {
      case .sessionsEnded: break
      case .passwordChanged(let hash): verifier = basis + hash.text.utf8
      case .reset:
        verifier = basis
        revoke(passkeys, by: caller.grants.caller, at: now, in: &changeSet)
      case .passkeyRemoved(let bindingID):
        let removed = passkeys.filter { Identifier.areEqual($0.bindingID, bindingID) }
        // It is gone already: nothing changes, and no session ends.
        if removed.isEmpty { return await operatorAccount(id) }
        revoke(removed, by: caller.grants.caller, at: now, in: &changeSet)
      }
      profile.setSecret(.passcode, verifier: verifier, at: now)
      changeSet.changes.append(.putProfile(profile))
      switch await commit(changeSet) {
      case .written: return await operatorAccount(id)
      case .usedUp: continue
      case .failed: return nil
      }
    }
    storeFailed()
    return nil
  }

  private func revoke(
    _ passkeys: [BindingRecord], by caller: Caller, at now: UnixTime, in changeSet: inout ChangeSet
  ) {
    for passkey in passkeys {
      changeSet.revoke(passkey)
      changeSet.events.append(.binding(.revoked, passkey, statedReason: "console", caller: caller, time: now))
    }
  }

  private func passkeys(ofOperator id: String) async -> [BindingRecord]? {
    try? await storeResult {
      store.bindings(
        applicationID: ApplicationID.console, profileID: id, includingRevoked: false, after: nil,
        limit: configuration.enrolment.maximumBindingsPerProfile, completion: $0)
    }.get()
  }
}
