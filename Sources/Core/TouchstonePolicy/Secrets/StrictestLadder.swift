extension Ladder {
  /// Allows only what each of these ladders allows: for attempts outside of evaluations, so that they do not evade any
  /// ladder.
  ///
  /// - Returns: the standard ladder if there is none.
  public static func strictest(of ladders: [Ladder]) -> Ladder {
    var rungs: [Rung] = []
    let highest = ladders.flatMap { $0.rungs.map(\.failures) }.max() ?? 0
    for failures in stride(from: 1, through: highest, by: 1) {
      let effects = ladders.compactMap { $0.effect(ofFailure: failures) }
      guard let effect = effects.max(by: { $1.isStricter(than: $0) }) else { continue }
      rungs.append(Rung(failures: failures, effect: effect))
      if effect == .disable { break }
    }
    return rungs.isEmpty ? .standard : Ladder(rungs: rungs)
  }
}

extension Ladder {
  /// For a passcode or a gesture that is tried outside of an evaluation.
  public static func strictest(of policies: some Sequence<EvaluationPolicy>, for factor: Factor) -> Ladder {
    strictest(of: policies.filter { $0.factors.contains(factor) }.map(\.ladder))
  }
}

extension Ladder.Effect {
  fileprivate func isStricter(than other: Ladder.Effect) -> Bool {
    switch (self, other) {
    case (.disable, .lock): true
    case (.lock(let duration), .lock(let otherDuration)): duration > otherDuration
    case (_, .disable): false
    }
  }
}
