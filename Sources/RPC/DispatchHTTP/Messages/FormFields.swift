internal import Encodings

/// The fields of a form, each once, as browsers send it: application/x-www-form-urlencoded (URL Standard §5.1), in a
/// body or after the "?". Pure.
package struct FormFields: Sendable {
  package static let contentType = "application/x-www-form-urlencoded"
  /// Several times what a page's form has, so that each costs little to look up.
  package static let maximumFields = 64

  /// In their order.
  private(set) var fields: [(name: String, value: String)] = []

  /// Returns `nil` for what two readers could understand differently: a name that appears twice, a "%" without two
  /// digits, bytes that are not UTF-8; and for too many fields.
  package init?(parsing bytes: some Collection<UInt8>) {
    guard !bytes.isEmpty else { return }
    for field in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
      let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard fields.count < Self.maximumFields, let name = parts.first.flatMap({ Self.decoded($0) }),
        let value = parts.count == 2 ? Self.decoded(parts[1]) : "", self[name] == nil
      else {
        return nil
      }
      fields.append((name, value))
    }
  }

  /// Names are compared byte for byte.
  package subscript(_ name: String) -> String? {
    fields.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  private static func decoded(_ text: some Collection<UInt8>) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension FormFields {
  /// A text as a form's name or value, for a link's query.
  package static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if byte.isASCIILetterOrDigit || "-._".utf8.contains(byte) {
        encoded.append(byte)
      } else {
        let digits = Array("0123456789ABCDEF".utf8)
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}

extension HTTPRequest {
  /// The fields after the "?"; `nil` if they are malformed.
  package var queryFields: FormFields? { FormFields(parsing: Array((head.query ?? "").utf8)) }

  /// The fields of the body; `nil` if it is no form, or malformed.
  package var formFields: FormFields? {
    let types = head.fields.values(of: "content-type")
    guard types.count == 1, let type = types.first?.utf8.split(separator: UInt8(ascii: ";")).first,
      String(Substring(type)).trimmed().asciiLowercased() == FormFields.contentType
    else {
      return nil
    }
    return FormFields(parsing: body)
  }
}

extension HTTPRequestHead {
  /// The value of a cookie (RFC 6265 §4.2.1). Returns `nil` also if there are two of the name: another site on the same
  /// host may have added one of them.
  ///
  /// By bytes, as browsers read them: Swift's characters take U+037E for a semicolon, behind which another site could
  /// write a cookie whose name browsers keep from it.
  package func cookie(_ name: String) -> String? {
    let pairs = fields.values(of: "cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
    let values = pairs.compactMap { pair -> String? in
      let pair = String(Substring(pair)).trimmed().utf8
      guard let end = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<end].elementsEqual(name.utf8) else { return nil }
      return String(Substring(pair[pair.index(after: end)...]))
    }
    return values.count == 1 ? values.first : nil
  }
}
