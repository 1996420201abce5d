// Parsers of single values: headers, gzip, certificates.

import Encodings
import TestSupport

@testable import DispatchRPC

extension FuzzTarget {
  /// Fields of any names and values, and what is made of the values by themselves.
  static let headerValues = FuzzTarget("header-values", maximumBytes: 512) { input in
    checkPercentEncoding(input)
    checkBase64(input)
    checkTimeout(input)
    _ = RPCCode(headerValue: input)
    readHeads(input)
  }

  /// Small enough for the limit to be met.
  static let gzip = FuzzTarget("gzip", maximumBytes: 2 << 10) { input in
    let (gzip, limit) = (Gzip(), 4 << 10)
    guard let message = try? gzip.inflate(Array(input), limit: limit) else { return }
    require(message.count <= limit, "\(message.count) bytes are inflated, and \(limit) are allowed")
    require((try? gzip.inflate(gzipped(message), limit: message.count)) == message, "a message changed on its way")
  }

  /// Each name in a certificate is complete, printable text.
  static let certificates = FuzzTarget("certificates", maximumBytes: 4 << 10) { input in
    guard let certificate = RPCPeerCertificate(der: input) else { return }
    for name in certificate.uris + certificate.dnsNames {
      require(!name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a name is not printable: \(name)")
    }
    guard let name = certificate.commonName else { return }
    require(!name.isEmpty && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a name has control characters")
  }

  private static func checkPercentEncoding(_ input: UnsafeRawBufferPointer) {
    let text = PercentEncoding.decode(input)
    var encoded: [UInt8] = []
    PercentEncoding.encode(text, into: &encoded)
    require(encoded.allSatisfy { (0x20...0x7E).contains($0) }, "an encoded message is not printable")
    let again = encoded.withUnsafeBytes(PercentEncoding.decode)
    if text.utf8.count <= PercentEncoding.messageLimitBytes {
      require(again.utf8.elementsEqual(text.utf8), "a message changed on its way: \(text)")
    } else {
      require(text.utf8.starts(with: again.utf8), "a message was cut elsewhere than at its end")
    }
  }

  private static func checkBase64(_ input: UnsafeRawBufferPointer) {
    guard let bytes = Base64.decode(input, padding: .optional) else { return }
    var encoded: [UInt8] = []
    Base64.append(bytes, to: &encoded)
    require(encoded.elementsEqual(input.prefix { $0 != UInt8(ascii: "=") }), "a value has two spellings")
  }

  private static func checkTimeout(_ input: UnsafeRawBufferPointer) {
    guard let timeout = GRPCTimeout.parse(input) else { return }
    var written: [UInt8] = []
    GRPCTimeout.write(nanoseconds: timeout, into: &written)
    let again = written.withUnsafeBytes(GRPCTimeout.parse)
    require(again.map { $0 >= timeout } == true, "a timeout of \(timeout) became shorter")
  }

  /// As nghttp2 hands them over: it has checked the names, and we do not rely on it.
  private static func readHeads(_ input: UnsafeRawBufferPointer) {
    var reader = ByteReader(input)
    var (request, response) = (RequestHead(), ResponseHead())
    response.blockBegins()
    while !reader.isEmpty {
      let kind = reader.byte()
      let name = kind & 1 == 0 ? reader.bytes(Int(kind >> 4)) : names[Int(kind >> 1) % names.count]
      let value = reader.bytes(Int(reader.byte() & 63))
      name.withUnsafeBytes { name in
        value.withUnsafeBytes { value in
          request.add(name, value, limit: 300) { _ in 0 }
          response.add(name, value, limit: 300)
        }
      }
      if kind >> 1 == 127 { response.blockBegins() }
    }
    _ = request.refusal()
    checkMetadata(request.metadata.decoded())
    if case .failure(let error) = response.outcome() { require(error.code != .ok, "a failure is OK") }
    checkMetadata(response.initialMetadata.decoded())
  }

  /// All of it may be sent on.
  private static func checkMetadata(_ metadata: Metadata) {
    var copy = Metadata()
    for entry in metadata.entries {
      switch entry.value {
      case .text(let text): require(copy.append(entry.name, text), "\(entry.name) was read and cannot be sent")
      case .binary(let bytes): require(copy.append(entry.name, binary: bytes), "\(entry.name) cannot be sent")
      }
    }
    require(copy == metadata, "metadata changed on its way")
  }

  private static let names = [
    ":method", ":status", ":path", "te", "content-type", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding",
    "grpc-status", "grpc-message", "grpc-status-details-bin", "key", "key-bin", "user-agent",
  ].map { Array($0.utf8) }
}
