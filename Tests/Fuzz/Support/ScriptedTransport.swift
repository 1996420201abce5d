// A transport whose bytes are an input's, with sockets' moods: reads in pieces, writes that are taken in part or not at
// all.

import Glibc

@testable import DispatchRPC

/// Confined to its event loop. It drops the bytes that it is given to send.
final class ScriptedTransport: Transport {
  /// One end of a pair that carries nothing: epoll requires a descriptor, and a client reads errors from it.
  let descriptor: Int32
  private let otherEnd: Int32
  /// A connection that has much to write reads nothing meanwhile; one that never reads again is left with its input.
  private static let toleratedRefusals = 8

  private let pieceBytes: Int
  private var input: ArraySlice<UInt8> = []
  /// The outcomes of the next sends, one bit each.
  private var moods: UInt8
  private(set) var isClosed = false
  /// The peer sends no more.
  var isEnded = false

  init(mood: UInt8) {
    var pair: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let result = socketpair(AF_UNIX, type, 0, &pair)
    precondition(result == 0, "no descriptors left")
    descriptor = pair[0]
    otherEnd = pair[1]
    pieceBytes = [1 << 17, 1_000, 17, 1][Int(mood & 3)]
    moods = mood >> 2
  }

  deinit {
    close()
  }

  /// In pieces, each of which is answered, to the last or until the connection has had enough.
  func feed(_ bytes: [UInt8], to connection: HTTP2Connection) {
    input += bytes
    var refusals = 0
    while !input.isEmpty, !isClosed, connection.isOpen, refusals < Self.toleratedRefusals {
      let before = input.count
      connection.ready([.readable, .writable])
      connection.write()
      refusals = input.count == before ? refusals + 1 : 0
    }
  }

  var isEncrypted: Bool { false }
  var peerCertificate: RPCPeerCertificate? { nil }
  var hasUnreadInput: Bool { false }

  func handshake() -> HandshakeProgress { .done }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
    let piece = input.prefix(min(pieceBytes, buffer.count))
    guard !piece.isEmpty else { return isEnded ? .ended : .wouldBlock }
    buffer.copyBytes(from: piece)
    input = input.dropFirst(piece.count)
    return .bytes(piece.count)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult {
    defer { moods >>= 2 }
    switch moods & 3 {
    case 1: return .wouldBlock
    case 2: return .bytes(min(bytes.count, 11))
    default: return .bytes(bytes.count)
    }
  }

  func finishSending() {}

  func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
    Glibc.close(otherEnd)
  }
}
