// The laws of every change to durable records, whatever its cause.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// One change set, between the records before it and those after it.
struct Laws {
  let world: World
  let before: StoredRecords
  let after: StoredRecords
  let changeSet: ChangeSet
  let causes: [Call]

  func check() {
    for case .putBinding(let record) in changeSet.changes {
      world.ledger.note(record, at: world.time.step, replacing: ownBindingUnderLock(of: record))
    }
    for event in changeSet.events {
      require(
        isCaused(event), "cause",
        "\(event.kind) with \(event.details) of \(event.bindingID) is by none of \(causes.map(\.number))")
      EventLaws.check(event, with: changeSet, causes: causes, world)
    }
    for change in changeSet.changes { check(change) }
    if changeSet.events.isEmpty { requireUneventful() }
  }

  /// An admission is no event: its verdict is. And an erasure's event is the store's to write. A posture alone is what
  /// support is shown.
  private func requireUneventful() {
    for change in changeSet.changes {
      switch change {
      case .putProfile, .eraseProfile, .notePosture: break
      default: require(change.isCondition, "R41", "a change without an event: \(change)")
      }
    }
  }

  func require(_ condition: Bool, _ rule: String, _ text: @autoclosure () -> String) {
    world.require(condition, rule, text())
  }

  func has(_ kinds: String...) -> Bool { changeSet.events.contains { kinds.contains($0.kind) } }

  private func isCaused(_ event: EventDraft) -> Bool {
    causes.contains { call in
      guard let request = call.request else { return false }
      return request.justifies(event, Moment(world: world, before: before, changeSet: changeSet, call: call))
    }
  }

  private func check(_ change: Change) {
    switch change {
    case .putBinding(let record): check(record, replacing: before.binding(record.bindingID))
    case .putDevice(let record): check(record)
    case .putEvaluation(let record): check(record.standing, replacing: before.evaluation(record.key)?.standing)
    case .putToken(let record): check(record, replacing: before.token(record.key))
    case .putProfile(let record): check(record, replacing: before.profile(record.applicationID, record.profileID))
    case .useTicket(let key): require(!before.isUsed(ticket: key), "R28", "a ticket is used twice")
    case .touchBinding(let id, _, _):
      require(before.binding(id)?.isRevoked == false, "R32", "what rests on an active binding rests on a revoked one")
    case .raiseProofCounter(let id, let from, let to):
      guard let counting = before.binding(id) else { return require(false, "R43", "a counter of no binding") }
      require(counting.proofCounter == from && from < to, "R43", "a counter did not grow")
      require(world.ledger.proofs.raise(counterOf: counting, to: to), "R43", "a counter was accepted before: \(to)")
    case .notePosture(_, let seen):
      require(seen.posture.domainState.isEmpty, "R41", "a domain state is kept with a posture")
    case .putReceipt, .moveReceipt, .requireBinding, .requireDevice, .requireProfile, .requireToken:
      break
    case .eraseProfile(let erasure): check(erasure)
    }
  }

  // MARK: Erasures

  private func check(_ erasure: ProfileErasure) {
    let (applicationID, profileID) = (erasure.applicationID, erasure.profileID)
    let isAsked = causes.contains { call in
      guard let request = call.request as? V1.EraseProfileRequest else { return false }
      return Identifier.areEqual(request.applicationID, applicationID)
        && Identifier.areEqual(request.profileID, profileID)
    }
    require(isAsked, "cause", "nobody asked for the erasure of \(profileID)")
    require(after.bindings(applicationID, profileID, includingRevoked: true).isEmpty, "erasure", "a binding is left")
    require(after.profile(applicationID, profileID).version == 0, "erasure", "a profile's record is left")
    require(!after.events.contains { $0.event?.isOf(applicationID, profileID) == true }, "erasure", "an event is left")
  }

  // MARK: Bindings

  /// R12: under a lock that it does not end, a binding is as old to it as the profile's own one that it replaces.
  private func ownBindingUnderLock(of record: BindingRecord) -> BindingRecord? {
    guard after.device(record.deviceID).biometry.isLockedOut,
      let own = before.activeBinding(record.applicationID, onDevice: record.deviceID),
      Identifier.areEqual(own.profileID, record.profileID)
    else { return nil }
    return own
  }

  private func check(_ record: BindingRecord, replacing old: BindingRecord?) {
    require(
      has("binding.created", "binding.revoked", "binding.domain_state_accepted", "evaluation.succeeded"), "R41",
      "a binding changed without an event")
    guard let old else {
      require(!record.isRevoked, "R32", "a binding begins revoked")
      require(
        record.proofCounter >= world.ledger.proofs.counter(of: record), "R43", "a counter begins below its last one")
      return checkLimits(of: record)
    }
    require(!(old.isRevoked && !record.isRevoked), "R32", "a revoked binding came back")
    var unchanged = record
    unchanged.isRevoked = old.isRevoked
    unchanged.version = old.version
    unchanged.lastUsedAt = old.lastUsedAt
    unchanged.lastSeen = old.lastSeen
    unchanged.proofCounter = old.proofCounter
    unchanged.baseline = old.baseline
    require(unchanged == old, "R29", "a binding became another one")
    if record.baseline != old.baseline {
      require(record.baseline?.domainState.isEmpty == false, "R24", "an empty baseline")
      require(has("binding.domain_state_accepted", "evaluation.succeeded"), "R26", "a baseline changed by itself")
    }
  }

  private func checkLimits(of record: BindingRecord) {
    let active = after.bindings.values.filter {
      !$0.isRevoked && Identifier.areEqual($0.applicationID, record.applicationID)
    }
    require(
      active.count { Identifier.areEqual($0.deviceID, record.deviceID) } == 1, "R29",
      "a device has several active bindings in an application")
    require(
      active.count { Identifier.areEqual($0.profileID, record.profileID) }
        <= world.plan.enrolment.maximumBindingsPerProfile, "R29", "a profile has too many active bindings")
  }

  // MARK: Devices

  private func check(_ record: DeviceRecord) {
    check(record, replacing: before.device(record.deviceID).biometry)
  }

  /// One that an event names, before the change.
  private var isByActiveBinding: Bool {
    changeSet.events.contains { before.binding($0.bindingID)?.isRevoked == false }
  }

  private func check(_ record: DeviceRecord, replacing old: BiometryStanding) {
    let new = record.biometry
    let isForgiven = changeSet.events.contains { $0.forgives(old) }
    require(new.consecutiveFailures >= old.consecutiveFailures || isForgiven, "R7", "failures were forgotten")
    require(new.isLockedOut || !old.isLockedOut || isForgiven, "R4", "a device was unlocked by nothing")
    require(new.consecutiveFailures <= old.consecutiveFailures + 1, "R7", "one attempt counted twice")
    if new.isLockedOut, !old.isLockedOut { world.ledger.note(lockOf: record.deviceID, at: world.time.step) }
    require(
      new.isLockedOut || new.consecutiveFailures < world.plan.failuresBeforeLockout, "R7",
      "\(new.consecutiveFailures) failures locked nothing")
    if new.consecutiveFailures > old.consecutiveFailures || (new.isLockedOut && !old.isLockedOut) {
      require(
        has("evaluation.failed", "evaluation.locked_out", "evaluation.factor_required"), "R41",
        "a failure was counted without an event")
      require(isByActiveBinding, "R10", "a binding that is not active counted on \(record.deviceID)")
    }
  }

  // MARK: Evaluations and tokens

  private func check(_ new: EvaluationStanding, replacing old: EvaluationStanding?) {
    require(old?.isFinished != true, "R35", "a finished evaluation went on")
    require(new.failures >= old?.failures ?? 0, "R7", "an evaluation forgot failures")
  }

  private func check(_ new: TokenRecord, replacing old: TokenRecord?) {
    guard let old else { return require(new.state != .consumed, "R39", "a token that was never issued is consumed") }
    require(old.transaction == new.transaction, "R39", "a token's transaction changed")
    let isLawful =
      switch (old.state, new.state) {
      case (.issued, .consumed), (.issued, .revoked), (.consumed, .revoked): true
      default: false
      }
    require(isLawful, "R39", "a token went from \(old.state) to \(new.state)")
  }
}

extension EventDraft {
  /// Biometrics clear their own failures; only device owner, passcode and an operator end a lockout (R4, R12).
  fileprivate func forgives(_ standing: BiometryStanding) -> Bool {
    guard kind == "evaluation.succeeded" else { return kind == "device.unlocked" }
    switch details.first(where: { $0.key == "factor" })?.value {
    case "device_owner", "passcode": return true
    case "biometry": return !standing.isLockedOut
    default: return false
    }
  }
}
