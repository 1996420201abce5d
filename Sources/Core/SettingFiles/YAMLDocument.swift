// Reads YAML with libyaml into a tree of nodes, each with its place in the file.
//
// Yams needs Foundation, and Foundation's ICU would triple the binary's size.

internal import CYAML

/// One value of a YAML file, and its place.
package struct YAMLNode: Sendable {
  package enum Content: Sendable {
    case scalar(String)
    case sequence([YAMLNode])
    /// In the file's order. If a key appears twice, the first counts.
    case mapping([YAMLEntry])
  }

  package var content: Content
  package var place: YAMLPlace

  package init(content: Content, place: YAMLPlace) {
    self.content = content
    self.place = place
  }
}

package struct YAMLEntry: Sendable {
  package var key: YAMLKey
  package var value: YAMLNode

  package init(key: YAMLKey, value: YAMLNode) {
    self.key = key
    self.value = value
  }
}

package struct YAMLKey: Sendable {
  package var name: String
  package var place: YAMLPlace

  package init(name: String, place: YAMLPlace) {
    self.name = name
    self.place = place
  }

  /// For errors. A text that looks like no name may be a secret that lacks quotation marks: YAML reads a part of
  /// `{password: $argon2id$…}` as a key.
  var shownName: String {
    let others = "_-.".utf8
    let isName =
      !name.isEmpty && name.utf8.count <= 64
      && name.utf8.allSatisfy { byte in
        Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber || others.contains(byte)
      }
    return isName ? "\"\(name)\"" : "a text that is no name"
  }
}

/// Counted from 1, as editors do.
package struct YAMLPlace: Hashable, Comparable, Sendable {
  /// A variable or a flag; `nil`: the file.
  package private(set) var source: String?
  /// 0: the value is the source's whole text.
  package private(set) var line: Int
  package private(set) var column: Int

  init(line: Int, column: Int, of source: String?) {
    self.line = line
    self.column = column
    self.source = source
  }

  /// The whole text of a variable or a flag.
  package init(wholeOf source: String) {
    self.init(line: 0, column: 0, of: source)
  }

  package static func < (left: YAMLPlace, right: YAMLPlace) -> Bool {
    (left.source ?? "", left.line, left.column) < (right.source ?? "", right.line, right.column)
  }
}

package struct YAMLError: Error {
  package var message: String
  package var place: YAMLPlace

  package init(message: String, place: YAMLPlace) {
    self.message = message
    self.place = place
  }

  /// "FILE:LINE:COLUMN: MESSAGE", or "VARIABLE: MESSAGE".
  package func line(of path: String) -> String {
    let source = place.source ?? path
    return place.line == 0 ? "\(source): \(message)" : "\(source):\(place.line):\(place.column): \(message)"
  }
}

extension YAMLNode {
  /// A configuration is written by hand. A deeper or larger one is a mistake or an attack.
  private static let maximumDepth = 16
  private static let maximumNodes = 100_000

  /// The file's one document; an empty file is an empty mapping.
  ///
  /// - Parameters:
  ///   - source: a variable or a flag, if the text is not a file's.
  ///   - errors: receives errors that do not stop the reading: keys that appear twice.
  package static func parse(
    _ text: [UInt8], of source: String? = nil, errors: inout [YAMLError]
  ) throws(YAMLError) -> YAMLNode {
    var parser = yaml_parser_t()
    guard yaml_parser_initialize(&parser) == 1 else {
      throw YAMLError(message: "out of memory", place: YAMLPlace(line: 1, column: 1, of: source))
    }
    defer { yaml_parser_delete(&parser) }
    let result: Result<(YAMLNode, [YAMLError]), YAMLError> = text.withUnsafeBufferPointer { buffer in
      withUnsafeMutablePointer(to: &parser) { parser in
        yaml_parser_set_input_string(parser, buffer.baseAddress, buffer.count)
        return Result { () throws(YAMLError) in
          var reader = EventReader(parser: parser, source: source)
          return (try reader.readDocument(), reader.errors)
        }
      }
    }
    let (node, found) = try result.get()
    errors += found
    return node
  }

  /// Turns libyaml's events into nodes. The parser outlives it: see `parse`.
  private struct EventReader {
    let parser: UnsafeMutablePointer<yaml_parser_t>
    let source: String?
    private(set) var errors: [YAMLError] = []
    private var nodes = 0

    init(parser: UnsafeMutablePointer<yaml_parser_t>, source: String?) {
      self.parser = parser
      self.source = source
    }

    struct Event {
      var type: yaml_event_type_t
      var place: YAMLPlace
      var scalar: String?
    }

    mutating func readDocument() throws(YAMLError) -> YAMLNode {
      var event = try next()
      while event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT { event = try next() }
      if event.type == YAML_STREAM_END_EVENT { return YAMLNode(content: .mapping([]), place: event.place) }
      let node = try read(event, depth: 0)
      _ = try next()
      let end = try next()
      guard end.type == YAML_STREAM_END_EVENT else {
        throw YAMLError(message: "a configuration is one document", place: end.place)
      }
      return node
    }

    private mutating func read(_ event: Event, depth: Int) throws(YAMLError) -> YAMLNode {
      nodes += 1
      guard depth < YAMLNode.maximumDepth, nodes < YAMLNode.maximumNodes else {
        throw YAMLError(message: "nested too deep, or too large", place: event.place)
      }
      switch event.type {
      case YAML_SCALAR_EVENT:
        return YAMLNode(content: .scalar(event.scalar ?? ""), place: event.place)
      case YAML_SEQUENCE_START_EVENT:
        return YAMLNode(content: .sequence(try readSequence(depth: depth)), place: event.place)
      case YAML_MAPPING_START_EVENT:
        return YAMLNode(content: .mapping(try readMapping(depth: depth)), place: event.place)
      default:
        throw YAMLError(message: "anchors and aliases are not accepted", place: event.place)
      }
    }

    private mutating func readSequence(depth: Int) throws(YAMLError) -> [YAMLNode] {
      var nodes: [YAMLNode] = []
      var event = try next()
      while event.type != YAML_SEQUENCE_END_EVENT {
        nodes.append(try read(event, depth: depth + 1))
        event = try next()
      }
      return nodes
    }

    private mutating func readMapping(depth: Int) throws(YAMLError) -> [YAMLEntry] {
      var entries: [YAMLEntry] = []
      var names: Set<String> = []
      var event = try next()
      while event.type != YAML_MAPPING_END_EVENT {
        guard let name = event.scalar else { throw YAMLError(message: "a key must be a word", place: event.place) }
        let key = YAMLKey(name: name, place: event.place)
        let value = try read(try next(), depth: depth + 1)
        if names.insert(name).inserted {
          entries.append(YAMLEntry(key: key, value: value))
        } else {
          errors.append(YAMLError(message: "\(key.shownName) appears twice", place: key.place))
        }
        event = try next()
      }
      return entries
    }

    private mutating func next() throws(YAMLError) -> Event {
      var event = yaml_event_t()
      guard yaml_parser_parse(parser, &event) == 1 else { throw parserError() }
      defer { yaml_event_delete(&event) }
      var scalar: String?
      if event.type == YAML_SCALAR_EVENT {
        let bytes = UnsafeBufferPointer(start: event.data.scalar.value, count: event.data.scalar.length)
        scalar = String(decoding: bytes, as: UTF8.self)
      }
      return Event(type: event.type, place: place(event.start_mark), scalar: scalar)
    }

    private func parserError() -> YAMLError {
      let problem = parser.pointee.problem.map { String(cString: $0) } ?? "not YAML"
      return YAMLError(message: problem, place: place(parser.pointee.problem_mark))
    }

    private func place(_ mark: yaml_mark_t) -> YAMLPlace {
      YAMLPlace(line: Int(mark.line) + 1, column: Int(mark.column) + 1, of: source)
    }
  }
}
