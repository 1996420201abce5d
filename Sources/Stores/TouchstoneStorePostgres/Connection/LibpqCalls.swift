// Calls of libpq that take arrays of pointers.

internal import CPostgres

extension Transaction {
  /// False if libpq refuses it.
  func send(on connection: OpaquePointer) -> Bool {
    calls.allSatisfy { $0.send(on: connection) } && PQpipelineSync(connection) == 1
  }
}

extension StatementCall {
  fileprivate func send(on connection: OpaquePointer) -> Bool {
    let count = lengths.count
    return bytes.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: max(1, count)) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, count)) { formats in
          // An empty value has an address too: without one it would be NULL.
          var next = bytes.baseAddress ?? UnsafeRawPointer(Self.somewhere)
          for (index, length) in lengths.enumerated() {
            values[index] = length == Self.nullLength ? nil : next.assumingMemoryBound(to: CChar.self)
            formats[index] = 1
            if length > 0 { next += Int(length) }
          }
          return lengths.withUnsafeBufferPointer { lengths in
            let parameters = (Int32(count), values.baseAddress, lengths.baseAddress, formats.baseAddress)
            guard let name = statement.name else {
              return PQsendQueryParams(
                connection, statement.sql, parameters.0, nil, parameters.1, parameters.2, parameters.3, 1) == 1
            }
            return PQsendQueryPrepared(
              connection, name, parameters.0, parameters.1, parameters.2, parameters.3, 1) == 1
          }
        }
      }
    }
  }

  private static var somewhere: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 1)! }
}

/// A null-terminated array of C strings.
func withCStrings<Value>(
  _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
  var bytes: [CChar] = []
  var offsets: [Int] = []
  for string in strings {
    offsets.append(bytes.count)
    bytes.append(contentsOf: string.utf8CString)
  }
  return bytes.withUnsafeBufferPointer { bytes in
    var pointers: [UnsafePointer<CChar>?] = offsets.map { bytes.baseAddress! + $0 }
    pointers.append(nil)
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
