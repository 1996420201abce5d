// A fault in what a service stands on, put there on purpose: a simulation that does not find it finds nothing.

enum Mutation: String, CaseIterable, Sendable {
  /// Compare-and-set without the compare.
  case storeIgnoresVersions
  /// The store does not compare the records on which a decision rests; it compares those that the decision writes.
  case storeIgnoresRequirements
  case storeForgetsTickets
  /// The last change set that was confirmed as durable is gone after a crash.
  case storeLosesTheLastCommit
  /// A change set is confirmed as durable, and now and then is never written.
  case storeSaysYesAndWritesNothing
  /// A change set is confirmed as durable a while before it is.
  case storeAnswersBeforeItWrites
  case storeDropsEvents
  /// Two attempts at one secret may be counted as one.
  case storeIgnoresProfileVersions
  case clockStandsStill
  case randomnessRepeats
  /// Whatever the secret is.
  case hasherSaysYes
  /// A ladder of ten rungs that all lock for a second.
  case ladderIsLax
  /// One failure more than there may be.
  case lockoutIsLax
  /// One binding more than there may be.
  case bindingLimitIsLax
  /// A forger's hardware is as good as a maker's.
  case anyMakerIsTrusted
  /// A forger's word for an app is as good as Apple's.
  case anyAppAttestAuthorityIsTrusted
  /// Keys that nothing vouches for, where something must.
  case bareKeysAreTaken
  /// RSA keys, where the policy requires P-256.
  case anyKeyIsTaken
  /// Counts of passkeys and apps are never kept.
  case storeForgetsCounters
}

extension Mutation {
  /// A world in which the fault is found.
  var seed: UInt64 {
    switch self {
    case .storeIgnoresProfileVersions, .storeIgnoresVersions: 2
    case .storeLosesTheLastCommit: 7
    case .bindingLimitIsLax: 9
    case .bareKeysAreTaken, .anyAppAttestAuthorityIsTrusted: 10
    case .storeIgnoresRequirements, .storeForgetsCounters: 14
    case .anyMakerIsTrusted: 88
    case .anyKeyIsTaken: 102
    default: 1
    }
  }
}
