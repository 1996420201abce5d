// The result of verifying the accounts' signatures, in lines for people.

internal import TouchstoneServer
internal import TouchstoneStore

/// The result for the archive and the log, which are one chain.
struct AccountReport {
  /// In the order of the chain.
  private let reviews: [AccountReview]

  init(_ reviews: [AccountReview]) {
    self.reviews = reviews
  }

  private var signedCount: UInt64 { reviews.map(\.signedCount).reduce(0, +) }
  private var signedArchiveErasures: UInt64 { reviews.map(\.signedArchiveErasures).reduce(0, +) }
  private var hasKeys: Bool { reviews.contains { $0.hasKeys } }

  func require() throws(Failure) {
    // Each part was verified by itself, but the log's first accounts may follow signed ones of the archive.
    if reviews.count > 1, reviews[0].firstSigned != nil, let unsigned = reviews[1].firstUnsigned {
      throw Failure(kind: .corruptData, message: "\(EventChainVerifier.Fault.unsigned(sequence: unsigned))")
    }
    guard hasKeys, signedCount == 0 else { return }
    throw Failure(
      kind: .corruptData,
      message: "no event is signed, so the audit keys show nothing: another program made the log anew, or no "
        + "service with an audit key has served it yet")
  }

  var lines: [String] {
    var lines: [String] = []
    if hasKeys {
      let first = reviews.compactMap(\.firstSigned).first.map { ", the first of them event \($0)" } ?? ""
      lines.append("\(counted(signedCount, "account")) of removed content, each signed by a given audit key\(first)")
    } else if signedCount + signedArchiveErasures > 0 {
      let keyIDs = reviews.flatMap(\.keyIDs).reduce(into: [String]()) { keyIDs, keyID in
        if !keyIDs.contains(keyID) { keyIDs.append(keyID) }
      }
      lines.append(
        "NOT CHECKED: the signatures of \(counted(signedCount + signedArchiveErasures, "account")) of removed content, by the audit keys "
          + "\(keyIDs.joined(separator: ", ")); give --audit-keys (`touchstone keys public` prints them)")
    }
    let erasures = reviews.map(\.unsignedArchiveErasures).reduce(0, +)
    if erasures > 0 {
      lines.append("NOT CHECKED: \(counted(erasures, "event")) lost content in the archive without a signature")
    }
    let unsigned = reviews.map(\.unsignedCount).reduce(0, +)
    if let first = reviews.compactMap(\.firstUnsigned).first {
      lines.append(
        "NOT CHECKED: \(counted(unsigned, "account")) of removed content, from event \(first) on, without a signature: written "
          + "before there was an audit key, or forged before then")
    }
    return lines
  }
}
