/// One setting of a policy, under the configuration's name: how it is read, judged, applied and shown.
public struct PolicySetting: Sendable {
  public let key: String
  /// A value as decision tables write it; `nil`: no decision of a table rests on the setting.
  public let example: String?
  let judge: @Sendable (inout DefinitionReview) -> Void
  let apply: @Sendable (PolicyDefinition, inout EvaluationPolicy) throws(UnreadableSetting) -> Void
  private let reading: @Sendable (any SettingSource, inout PolicyDefinition) -> Void
  private let printing: @Sendable (EvaluationPolicy) -> PrintedSetting?

  /// - Parameters:
  ///   - factors: the setting has no effect on policies that accept none of these; empty: it has one on all.
  ///   - mayBeIdle: it may be written although it has no effect.
  ///   - get: `nil`: none is in force.
  ///   - judge: the checks that need more than the value.
  init<Written>(
    _ key: String, _ field: any WritableKeyPath<PolicyDefinition, Setting<Written>> & Sendable,
    _ form: SettingForm<Written>, of factors: [Factor] = [], mayBeIdle: Bool = false,
    example: String? = nil, get: @escaping @Sendable (EvaluationPolicy) -> Written?,
    set: @escaping @Sendable (inout EvaluationPolicy, Written) throws(UnreadableSetting) -> Void,
    judge: @escaping @Sendable (inout DefinitionReview) -> Void = { _ in }
  ) {
    self.key = key
    self.example = example
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
