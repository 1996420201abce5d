// An app's keychain: data under names of the app's choosing, behind the same access controls as keys.

extension SimulatedPhone {
  /// An item as its app sees it before opening it.
  public struct KeychainItem: Sendable, Hashable {
    /// Identifies an item on its phone for good: no later item has the same id.
    public struct ID: Sendable, Hashable {
      public let number: Int
    }

    /// The phone does not interpret names and values.
    public typealias Attributes = [String: [UInt8]]

    public let id: ID
    /// "genp", "keys": no query finds items of two classes.
    public let itemClass: String
    public let attributes: Attributes
    public let accessControl: AccessControl
    /// Set if the item is a key; other items have data.
    public let key: Key?
  }

  /// The changes of `updateItem`; absent values stay.
  public struct KeychainChanges: Sendable, Hashable {
    public var attributes: KeychainItem.Attributes
    public var data: [UInt8]?
    public var accessControl: AccessControl?

    public init(_ attributes: KeychainItem.Attributes = [:], data: [UInt8]? = nil, accessControl: AccessControl? = nil)
    {
      self.attributes = attributes
      self.data = data
      self.accessControl = accessControl
    }
  }

  public enum KeychainContent: Sendable, Hashable {
    case data([UInt8], AccessControl)
    /// A key of the phone's, behind its own access control. It goes when the item is deleted.
    case key(Key)
  }

  public enum KeychainError: Error, Sendable, Hashable {
    /// `errSecItemNotFound`.
    case itemNotFound
    /// `errSecDuplicateItem`.
    case duplicateItem
    /// No person proved their presence.
    case notAuthenticated(Failure)
  }
}

extension SimulatedPhone.KeychainItem {
  /// Whether the item has everything that `query` requires.
  func matches(_ query: Attributes) -> Bool {
    query.allSatisfy { attributes[$0.key] == $0.value }
  }
}
