// The types of files that belong together.

package struct DescriptorPool: Sendable {
  private var files: Set<String> = []
  private var wanted: Set<String> = []
  private var messages: [String: MessageDescriptor] = [:]
  private var enums: [String: EnumDescriptor] = [:]
  private var methods: [MethodDescriptor] = []

  package init() {}

  package mutating func add(_ file: FileDescriptor) {
    guard files.insert(file.name).inserted else { return }
    wanted.formUnion(file.dependencies)
    for message in file.messages { messages[message.name] = message }
    for each in file.enums { enums[each.name] = each }
    methods += file.methods
  }

  /// Files that others import and that are not here.
  package var missingFiles: [String] { wanted.subtracting(files).sorted() }

  package func methods(ofService service: String) -> [MethodDescriptor] {
    methods.filter { $0.service == service }
  }

  func message(_ name: String) -> MessageDescriptor? { messages[name] }

  func enumeration(_ name: String) -> EnumDescriptor? { enums[name] }
}
