/// One setting of a policy, under the configuration's name: how it is read, judged, applied, shown and digested.
public struct PolicySetting: Sendable {
  typealias Digest = @Sendable (EvaluationPolicy, inout PolicyDigest) -> Void

  public let key: String
  /// A value as decision tables write it; `nil`: no decision of a table rests on the setting.
  public let example: String?
  /// The setting's parts of a revision, by places (R36). A place belongs to one setting for ever: other places would
  /// void all open evaluations when the service is updated.
  let digests: [(place: Int, add: Digest)]
  let judge: @Sendable (inout DefinitionReview) -> Void
  let apply: @Sendable (PolicyDefinition, inout EvaluationPolicy) throws(UnreadableSetting) -> Void
  private let reading: @Sendable (any SettingSource, inout PolicyDefinition) -> Void
  private let printing: @Sendable (EvaluationPolicy) -> PrintedSetting?

  /// - Parameters:
  ///   - places: in a revision; one for each digest of the form.
  ///   - factors: the setting has no effect on policies that accept none of these; empty: it has one on all.
  ///   - mayBeIdle: it may be written although it has no effect.
  ///   - get: `nil`: none is in force.
  ///   - judge: the checks that need more than the value.
  init<Written>(
    _ key: String, _ field: any WritableKeyPath<PolicyDefinition, Setting<Written>> & Sendable,
    _ form: SettingForm<Written>, at places: Int..., of factors: [Factor] = [], mayBeIdle: Bool = false,
    example: String? = nil, get: @escaping @Sendable (EvaluationPolicy) -> Written?,
    set: @escaping @Sendable (inout EvaluationPolicy, Written) throws(UnreadableSetting) -> Void,
    judge: @escaping @Sendable (inout DefinitionReview) -> Void = { _ in }
  ) {
    precondition(places.count == form.digests.count)
    self.key = key
    self.example = example
    digests = zip(places, form.digests).map { place, add in
      (
        place,
        { policy, digest in
          let value = get(policy)
          if PolicyDigest.isOptional(place) {
            guard value != get(EvaluationPolicy(defaultsFor: policy.purpose)) else { return }
            digest.add(UInt64(place))
          }
          add(value, &digest)
        }
      )
    }
    reading = { source, definition in
      definition[keyPath: field] = form.read(source).map { .value($0) } ?? .unreadable
    }
    self.judge = { review in
      let written = review.definition[keyPath: field]
      if !factors.isEmpty, !mayBeIdle { review.require(factors, for: key, written) }
      if case .value(let value) = written, let reason = form.violation(value) { review.refuse(key, reason) }
      judge(&review)
    }
    apply = { (definition, policy) throws(UnreadableSetting) in
      if let value = try definition[keyPath: field].read() { try set(&policy, value) }
    }
    printing = { policy in
      guard factors.isEmpty || factors.contains(where: policy.factors.contains) else { return nil }
      return get(policy).map(form.print)
    }
  }

  public static func named(_ key: String) -> PolicySetting? {
    all.first { $0.key == key }
  }

  /// Reads the setting's value. The source itself reports a value that it cannot read.
  public func read(_ source: any SettingSource, into definition: inout PolicyDefinition) {
    reading(source, &definition)
  }

  /// Without a judgement: a decision table tries values that no configuration may have.
  ///
  /// - Returns: whether the source could read it.
  public func read(_ source: any SettingSource, into policy: inout EvaluationPolicy) -> Bool {
    var definition = PolicyDefinition(name: policy.name)
    reading(source, &definition)
    do throws(UnreadableSetting) {
      try apply(definition, &policy)
      return true
    } catch {
      return false
    }
  }

  /// Returns the value in force; `nil` if the setting has no effect.
  public func printed(of policy: EvaluationPolicy) -> PrintedSetting? {
    printing(policy)
  }
}
