// What came of the accounts' signatures, for people.

internal import TouchstoneStore

/// Of the archive and of the log, which are one chain.
struct AccountReport {
  /// In the order of the chain.
  private let reviews: [AccountReview]

  init(_ reviews: [AccountReview]) {
    self.reviews = reviews
  }

  private var signedCount: UInt64 { reviews.map(\.signedCount).reduce(0, +) }
  private var hasKeys: Bool { reviews.contains { $0.hasKeys } }

  func require() throws(Failure) {
    // Each part was verified by itself: the log's first accounts may follow signed ones of the archive.
    if reviews.count > 1, reviews[0].firstSigned != nil, let unsigned = reviews[1].firstUnsigned {
      throw Failure(status: .corruptData, message: "\(EventChainVerifier.Fault.unsigned(sequence: unsigned))")
    }
    guard hasKeys, signedCount == 0 else { return }
    throw Failure(
      status: .corruptData,
      message: "no event is signed, so the audit keys show nothing: the log was made anew by somebody else, or no "
        + "service with an audit key has served it yet")
  }

  var lines: [String] {
    var lines: [String] = []
    if hasKeys {
      lines.append("\(signedCount) accounts of what is gone, each signed by an audit key that was given")
    } else if signedCount > 0 {
      let keyIDs = reviews.flatMap(\.keyIDs).reduce(into: [String]()) { keyIDs, keyID in
        if !keyIDs.contains(keyID) { keyIDs.append(keyID) }
      }
      lines.append(
        "NOT CHECKED: the signatures of \(signedCount) accounts of what is gone, by the audit keys "
          + "\(keyIDs.joined(separator: ", ")); give --audit-keys (`touchstone keys public` prints them)")
    }
    let unsigned = reviews.map(\.unsignedCount).reduce(0, +)
    if let first = reviews.compactMap(\.firstUnsigned).first {
      lines.append(
        "NOT CHECKED: \(unsigned) accounts of what is gone, from event \(first) on, have no signature: they were written "
          + "before there was an audit key, or forged before then")
    }
    return lines
  }
}
