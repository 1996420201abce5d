internal import CTouchstoneProto

/// The .proto files of this build, as protoc compiled them, for server reflection. Every file as an encoded
/// google.protobuf.FileDescriptorProto, by its name and by its declarations.
///
/// Names are compared by their bytes: as texts, two encodings of one name would be equal.
public struct ProtoFiles: Sendable {
  private struct File {
    let descriptor: [UInt8]
    /// The files that it imports itself come before it.
    let imports: [Int]
  }

  private var files: [File] = []
  private var placesByName: [[UInt8]: Int] = [:]
  /// Names of messages, enumerations, services and methods.
  private var placesBySymbol: [[UInt8]: Int] = [:]
  private var messages: Set<[UInt8]> = []

  /// The compiled-in files; reading them takes a millisecond, once.
  public static let compiled = ProtoFiles()

  private init() {
    var size = 0
    let start = touchstone_descriptors(&size)
    DescriptorReader(UnsafeRawBufferPointer(start: start, count: size)).forEach { field, content in
      if field == DescriptorReader.fileOfSet { add(content) }
    }
  }

  /// The file of this name, then all its imports, direct and indirect. `nil`: there is none.
  public func file(named name: String) -> [[UInt8]]? {
    placesByName[Array(name.utf8)].map(withImports)
  }

  /// The file that declares a message, an enumeration, a service or a method, as `file(named:)`.
  /// - Parameter symbol: with its package, without a leading dot.
  public func file(declaring symbol: String) -> [[UInt8]]? {
    placesBySymbol[Array(symbol.utf8)].map(withImports)
  }

  public func isMessage(_ symbol: String) -> Bool {
    messages.contains(Array(symbol.utf8))
  }

  private func withImports(_ place: Int) -> [[UInt8]] {
    var places = [place]
    var next = 0
    while next < places.count {
      for place in files[places[next]].imports where !places.contains(place) { places.append(place) }
      next += 1
    }
    return places.map { files[$0].descriptor }
  }

  // MARK: Reading

  private mutating func add(_ bytes: UnsafeRawBufferPointer) {
    let place = files.count
    var package: [UInt8] = []
    var imports: [Int] = []
    let file = DescriptorReader(bytes)
    file.forEach { field, content in
      switch field {
      case DescriptorReader.name: placesByName[Array(content)] = place
      case DescriptorReader.packageOfFile: package = Array(content) + [Self.dot]
      case DescriptorReader.importOfFile: imports.append(placesByName[Array(content)]!)
      default: break
      }
    }
    file.forEach { field, content in
      switch field {
      case DescriptorReader.messageOfFile: addMessage(content, in: package, of: place)
      case DescriptorReader.enumOfFile: addSymbol(content, in: package, of: place)
      case DescriptorReader.serviceOfFile: addService(content, in: package, of: place)
      default: break
      }
    }
    files.append(File(descriptor: Array(bytes), imports: imports))
  }

  private mutating func addMessage(_ bytes: UnsafeRawBufferPointer, in scope: [UInt8], of place: Int) {
    let symbol = addSymbol(bytes, in: scope, of: place)
    messages.insert(symbol)
    DescriptorReader(bytes).forEach { field, content in
      switch field {
      case DescriptorReader.messageOfMessage: addMessage(content, in: symbol + [Self.dot], of: place)
      case DescriptorReader.enumOfMessage: addSymbol(content, in: symbol + [Self.dot], of: place)
      default: break
      }
    }
  }

  private mutating func addService(_ bytes: UnsafeRawBufferPointer, in scope: [UInt8], of place: Int) {
    let symbol = addSymbol(bytes, in: scope, of: place)
    DescriptorReader(bytes).forEach { field, content in
      if field == DescriptorReader.methodOfService { addSymbol(content, in: symbol + [Self.dot], of: place) }
    }
  }

  @discardableResult
  private mutating func addSymbol(_ bytes: UnsafeRawBufferPointer, in scope: [UInt8], of place: Int) -> [UInt8] {
    var symbol = scope
    DescriptorReader(bytes).forEach { field, content in
      if field == DescriptorReader.name { symbol += content }
    }
    placesBySymbol[symbol] = place
    return symbol
  }

  private static let dot = UInt8(ascii: ".")
}

/// Reads protoc's output, which is part of this program and trusted.
private struct DescriptorReader {
  // Numbers of descriptor.proto. Every message of it has its name first.
  static let name: UInt64 = 1
  static let fileOfSet: UInt64 = 1
  static let packageOfFile: UInt64 = 2
  static let importOfFile: UInt64 = 3
  static let messageOfFile: UInt64 = 4
  static let enumOfFile: UInt64 = 5
  static let serviceOfFile: UInt64 = 6
  static let messageOfMessage: UInt64 = 3
  static let enumOfMessage: UInt64 = 4
  static let methodOfService: UInt64 = 2

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// Each field that has a length, in the order of the bytes.
  func forEach(_ body: (_ field: UInt64, _ content: UnsafeRawBufferPointer) -> Void) {
    var position = 0
    while position < bytes.count {
      let key = varint(at: &position)
      let value = varint(at: &position)
      switch key & 7 {
      case 0: break
      case 2:
        body(key >> 3, UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(value)]))
        position += Int(value)
      default: preconditionFailure("descriptors have no fixed-width fields")
      }
    }
  }

  private func varint(at position: inout Int) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    repeat {
      value |= UInt64(bytes[position] & 0x7F) << shift
      shift += 7
      position += 1
    } while bytes[position - 1] >= 0x80
    return value
  }
}
