// Which applications lose stand-ins if there are more than a store may keep (R37).

/// Each application that the configuration names has a share. All other applications share one, because a caller with a
/// grant for all applications can invent any number of them. The largest shares are cut to one level, so a smaller share
/// loses nothing to the guesses in another one. The applications without a name of their own are cut in the same way among
/// themselves.
package enum StandInShares {
  package struct Share: Sendable, Hashable {
    package var applicationID: String
    /// The number of its stand-ins, or of those above the bound.
    package var number: Int

    package init(applicationID: String, number: Int) {
      self.applicationID = applicationID
      self.number = number
    }
  }

  package struct Excess: Sendable, Hashable {
    package var named: [Share] = []
    package var others: [Share] = []
    /// The number that the other applications lose together: more than `others` lists if too few of them were given.
    package var numberOfOthers = 0

    package var listsAllOthers: Bool { others.reduce(0) { $0 + $1.number } == numberOfOthers }
  }

  /// - Parameters:
  ///   - named: the applications that the configuration names.
  ///   - others: the largest of the other applications.
  ///   - total: the number of all stand-ins.
  /// - Returns: how many each application loses: `over` in total, or all that there are.
  package static func excess(named: [Share], others: [Share], total: Int, over: Int) -> Excess {
    let numberOfOthers = max(0, total - named.reduce(0) { $0 + $1.number })
    let losses = excess(of: [numberOfOthers] + named.map(\.number), over: over)
    return Excess(
      named: shares(named, losses.dropFirst()),
      others: shares(others, excess(of: others.map(\.number), over: losses[0])), numberOfOthers: losses[0])
  }

  /// Cuts the largest to one level. The first ones lose what cannot be divided.
  private static func excess(of numbers: [Int], over: Int) -> [Int] {
    func count(above level: Int) -> Int { numbers.reduce(0) { $0 + max(0, $1 - level) } }
    // The highest level with enough above it, or zero.
    var level = 0
    var tooHigh = (numbers.max() ?? 0) + 1
    while tooHigh - level > 1 {
      let middle = (level + tooHigh) / 2
      if count(above: middle) >= over { level = middle } else { tooHigh = middle }
    }
    var left = max(0, over)
    return numbers.map { number in
      let loss = min(max(0, number - level), left)
      left -= loss
      return loss
    }
  }

  private static func shares(_ shares: [Share], _ losses: some Sequence<Int>) -> [Share] {
    zip(shares, losses).compactMap { share, loss in
      loss > 0 ? Share(applicationID: share.applicationID, number: loss) : nil
    }
  }
}
