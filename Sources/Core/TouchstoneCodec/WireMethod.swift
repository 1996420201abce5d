// The services' methods, as in the .proto files; Methods.swift lists them all.

/// A method, with the types of its messages.
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
