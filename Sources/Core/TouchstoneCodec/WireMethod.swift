// The services' methods, as in the .proto files; Methods.swift lists them all.

/// A method, with the types of its messages.
package struct WireMethod<Request: WireMessage, Response: WireMessage>: Sendable {
  package let descriptor: MethodDescriptor

  /// "/package.Service/Method", as on the wire.
  package var path: String { descriptor.path }

  init(path: String, kind: MethodDescriptor.Kind, idempotency: MethodDescriptor.Idempotency) {
    descriptor = MethodDescriptor(path: path, kind: kind, idempotency: idempotency)
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

  /// "/package.Service/Method", as on the wire.
  package let path: String
  package let kind: Kind
  package let idempotency: Idempotency

  /// "package.Service".
  package var service: String { String(path.dropFirst().prefix { $0 != "/" }) }
  /// "Method".
  package var name: String { String(path.dropFirst().drop { $0 != "/" }.dropFirst()) }
}
