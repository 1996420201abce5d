/// A protobuf message as a Swift value: it is read from bytes and written to them.
///
/// The requirements below `fullName` are for the coder. They are public because Swift has no narrower access for them,
/// but their types can be neither made nor opened outside this module, so only its own messages conform.
public protocol WireMessage: Hashable, Sendable {
  /// The protobuf name with its package: `touchstone.v1.Denial`.
  static var fullName: String { get }

  static var layout: MessageLayout { get }
  static func read(_ message: UnpackedMessage) -> Self
  consuming func write(_ writer: inout FieldWriter)
}

extension WireMessage {
  /// Decodes with a coder of its own: for cold paths. A loop keeps a ``MessageCoder``.
  public static func decoded(
    from bytes: [UInt8], limits: DecodingLimits = .default
  ) throws(DecodingError) -> Self {
    try MessageCoder(limits: limits).decode(Self.self, from: bytes)
  }

  /// Encodes with a coder of its own: for cold paths. A loop keeps a ``MessageCoder``.
  public func encoded() throws(EncodingError) -> [UInt8] {
    try MessageCoder().encode(self)
  }

  /// The message as JSON, in one line, by protobuf's mapping. A field with its default value is left out.
  public func json() throws(EncodingError) -> String {
    try MessageCoder().json(of: self)
  }
}

/// An enumeration as in proto3: open, so that a newer peer's values pass through.
public protocol OpenEnum: RawRepresentable, Hashable, Sendable where RawValue == Int32 {
  init(rawValue: Int32)
}

extension OpenEnum {
  /// Zero, the default of every enumeration.
  public static var unspecified: Self { Self(rawValue: 0) }
}

/// A method of a service, with the types of its messages; Methods.swift lists them all.
package struct WireMethod<Request: WireMessage, Response: WireMessage>: Sendable {
  package let descriptor: MethodDescriptor
  /// Returns the application that a request names, in itself or in one of its messages; empty for none in particular.
  /// `nil`: the method concerns no application.
  ///
  /// A sealed object (an evaluation, a ticket) opens only for the application of its sealing, and a token's application
  /// is compared. The application in the request therefore counts for these, too.
  package let applicationID: (@Sendable (Request) -> String)?

  /// "/package.Service/Method", as on the wire.
  package var path: String { descriptor.path }

  init(
    path: String, kind: MethodDescriptor.Kind, idempotency: MethodDescriptor.Idempotency,
    access: MethodDescriptor.Access
  ) {
    precondition(access != .applicationGranted, "\(path) does not say where a request names its application")
    descriptor = MethodDescriptor(path: path, kind: kind, idempotency: idempotency, access: access)
    applicationID = nil
  }

  init(
    path: String, kind: MethodDescriptor.Kind, idempotency: MethodDescriptor.Idempotency,
    applicationID: @escaping @Sendable (Request) -> String
  ) {
    descriptor = MethodDescriptor(path: path, kind: kind, idempotency: idempotency, access: .applicationGranted)
    self.applicationID = applicationID
  }
}

/// A method with any messages.
package struct MethodDescriptor: Hashable, Sendable {
  package enum Kind: Sendable {
    case unary, clientStreaming, serverStreaming, bidirectional
  }

  /// The method's `idempotency_level`.
  package enum Idempotency: Sendable {
    /// A second call of the method may have another effect than the first.
    case unknown
    case noSideEffects
    case idempotent
  }

  /// Which callers may call the method. The service checks it before it reads the request.
  package enum Access: Sendable {
    /// Every peer: the method shows nothing that a closed port would not.
    case open
    /// Callers to whom the method is granted. It concerns no application.
    case granted
    /// Callers to whom the method and the application are granted. A request without an application concerns all, and
    /// the caller needs a grant for all.
    case applicationGranted
  }

  /// "/package.Service/Method", as on the wire.
  package let path: String
  package let kind: Kind
  package let idempotency: Idempotency
  package let access: Access

  /// "package.Service".
  package var service: String { String(path.dropFirst().prefix { $0 != "/" }) }
  /// "Method".
  package var name: String { String(path.dropFirst().drop { $0 != "/" }.dropFirst()) }
}
