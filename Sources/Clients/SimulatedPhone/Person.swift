// The actions of people with a phone: touch the sensor, look at it, type, tap a button.

extension SimulatedPhone {
  /// How a person proves their presence.
  public enum Factor: Sendable, Hashable, CaseIterable {
    case biometry
    case passcode
  }

  /// The finger, face or passcode that a person presents.
  public enum Presentation: Sendable, Hashable {
    /// A finger by its name: "right thumb".
    case finger(String)
    /// A face by its name.
    case face(String)
    case passcode(String)

    public var factor: Factor {
      switch self {
      case .finger, .face: .biometry
      case .passcode: .passcode
      }
    }
  }

  /// An action of a person at a prompt.
  public enum PersonAction: Sendable, Hashable {
    case present(Presentation)
    case tapCancel
    case tapFallback
    // After each of these the system takes the prompt away.
    case pressHome
    case lockScreen
    /// Goes to another app.
    case leaveApp
    /// A call comes in, and the person takes it.
    case takeCall
  }

  /// A person that answers prompts: first by the script, one action after the other, then by habit.
  ///
  /// An action that a prompt does not accept is not performed: the script skips it, and a habit leaves the prompt until
  /// a test acts on it or the app cancels it.
  public struct Person: Sendable, Hashable {
    public var script: [PersonAction]
    /// Done at every prompt of the sensor once the script has ended; `nil`: nothing.
    public var habitAtSensor: PersonAction?
    /// Done at every request for the passcode once the script has ended; `nil`: as without a sensor.
    public var habitAtPasscode: PersonAction?
    /// Done at every prompt whose sensor has given up, once the script has ended; `nil`: nothing.
    public var habitWithoutSensor: PersonAction?

    public init(
      script: [PersonAction] = [], habitAtSensor: PersonAction? = nil, habitAtPasscode: PersonAction? = nil,
      habitWithoutSensor: PersonAction? = nil
    ) {
      self.script = script
      self.habitAtSensor = habitAtSensor
      self.habitAtPasscode = habitAtPasscode
      self.habitWithoutSensor = habitWithoutSensor
    }

    /// No person: every prompt stays until `SimulatedPhone.perform(_:)`.
    public static let absent = Person()

    /// Presents the same finger or face every time, types the same passcode if the prompt requires it, and cancels if
    /// neither helps.
    public static func presenting(_ presentation: Presentation, passcode: String? = nil) -> Person {
      Person(
        habitAtSensor: .present(presentation), habitAtPasscode: passcode.map { .present(.passcode($0)) },
        habitWithoutSensor: .tapCancel)
    }
  }
}

extension SimulatedPhone.Person {
  /// The next action at `prompt`, always one that it accepts; `nil`: nothing.
  mutating func nextAction(at prompt: SimulatedPhone.Prompt) -> SimulatedPhone.PersonAction? {
    while !script.isEmpty {
      let action = script.removeFirst()
      if prompt.allows(action) { return action }
    }
    return habit(at: prompt).flatMap { prompt.allows($0) ? $0 : nil }
  }

  private func habit(at prompt: SimulatedPhone.Prompt) -> SimulatedPhone.PersonAction? {
    switch prompt.sheet {
    // Without a habit of typing the passcode, its request is one more prompt at which no sensor helps.
    case .passcode: habitAtPasscode ?? habitWithoutSensor
    case .touchID, .faceID: prompt.isSensing ? habitAtSensor : habitWithoutSensor
    }
  }
}
