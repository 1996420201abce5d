// A message's properties as text, by their Swift names. crosscheck.py makes the same text from what Python parsed, so a
// property that takes another field's value is found even where decoding and encoding agree on the mistake.

import TouchstoneCodec

/// `(name:value,…)`, names sorted, absent messages left out, text as hexadecimal UTF-8.
func describe(_ message: Any) -> String {
  let parts = Mirror(reflecting: message).children.compactMap { child -> String? in
    guard let label = child.label, let (name, value) = presentValue(child.value, label) else { return nil }
    return "\(name):\(describeValue(value))"
  }
  return "(\(parts.sorted().joined(separator: ",")))"
}

/// Looks through optionals, and through a oneof to the alternative that is set.
private func presentValue(_ value: Any, _ label: String) -> (name: String, value: Any)? {
  let mirror = Mirror(reflecting: value)
  switch mirror.displayStyle {
  case .optional:
    return mirror.children.first.flatMap { presentValue($0.value, label) }
  case .enum:
    return mirror.children.first.map { ($0.label ?? label, $0.value) }
  default:
    return (label, value)
  }
}

private func describeValue(_ value: Any) -> String {
  switch value {
  case let text as String:
    return "\"\(hexadecimal(text))\""
  case let entries as [String: String]:
    let pairs = entries.map { "\(hexadecimal($0.key)):\(hexadecimal($0.value))" }
    return "{\(pairs.sorted().joined(separator: ","))}"
  case let list as [Any]:
    return "[\(list.map(describeValue).joined(separator: ","))]"
  case let number as any OpenEnum:
    return "\(number.rawValue)"
  case let message as any WireMessage:
    return describe(message)
  default:
    return "\(value)"
  }
}

private func hexadecimal(_ text: String) -> String {
  let digits = Array("0123456789abcdef")
  return text.utf8.reduce(into: "") { result, byte in
    result.append(digits[Int(byte >> 4)])
    result.append(digits[Int(byte & 15)])
  }
}
