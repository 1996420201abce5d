// The package has no forbidden arrow, and every forbidden one would be found.

import Testing

@Suite("Architecture")
struct ArchitectureTests {
  @Test("No target sees what it may not see")
  func package() throws {
    let graph = try PackageTree.graph()
    #expect(Architecture.violations(in: graph) == [])
    #expect(Architecture.strayPaths(in: graph) == [])
  }

  @Test("Every arrow of the manifest is used by an import")
  func used() throws {
    for target in try PackageTree.manifest.get().targets {
      let imported = try PackageTree.imports(of: target)
      // C has no imports.
      if !imported.isEmpty {
        #expect(Set(target.dependencies.map(\.name)).subtracting(imported) == [], "\(target.name)")
      }
    }
  }

  /// As it may be, in small.
  private static let allowed = ArrowGraph(arrows: [
    "Sources/Core/Encodings": [],
    "Sources/Core/TouchstonePolicy": [],
    "Sources/Core/TouchstoneCodec": ["Sources/Core/CTouchstoneProto", "Sources/System/CProtobufC", "Modules/Glibc"],
    "Sources/Core/CTouchstoneProto": ["Sources/System/CProtobufC"],
    "Sources/Core/TouchstoneCrypto": ["Sources/System/CArgon2", "Packages/Crypto", "Modules/FoundationEssentials"],
    "Sources/Core/SettingFiles": ["Sources/System/CYAML", "Modules/Glibc"],
    "Sources/Core/TouchstoneMetrics": [],
    "Sources/Core/TouchstoneTraces": ["Sources/Core/Encodings"],
    "Sources/Core/TouchstoneStore": ["Sources/Core/TouchstonePolicy", "Packages/Crypto"],
    "Sources/Stores/TouchstoneStoreSQLite": ["Sources/Core/TouchstoneStore", "Sources/System/CSQLite"],
    "Sources/RPC/DispatchRPC": ["Sources/Core/Encodings", "Sources/System/CZlib"],
    "Sources/RPC/DispatchHTTP": ["Sources/RPC/DispatchRPC"],
    "Sources/RPC/DispatchPool": ["Modules/Dispatch"],
    "Sources/RPC/RPCChannel": ["Sources/RPC/DispatchRPC", "Sources/RPC/DispatchPool"],
    "Sources/Service/TouchstoneService": [
      "Sources/Core/TouchstonePolicy", "Sources/Core/TouchstoneCodec", "Sources/Core/TouchstoneStore",
    ],
    "Sources/Service/TouchstoneServer": [
      "Sources/Service/TouchstoneService", "Sources/Stores/TouchstoneStoreSQLite", "Sources/Core/SettingFiles",
    ],
    "Sources/Clients/TouchstoneClient": ["Sources/Core/TouchstoneCodec", "Sources/RPC/RPCChannel"],
    "Sources/Clients/SimulatedPhone": ["Packages/Crypto"],
    "Sources/Clients/LocalAuthentication": ["Sources/Clients/SimulatedPhone", "Modules/Foundation"],
    "kits/ios/Sources/TouchstoneKitCore": ["Modules/FoundationEssentials"],
    "kits/ios/Sources/TouchstoneKit": ["kits/ios/Sources/TouchstoneKitCore", "Sources/Clients/LocalAuthentication"],
    "Sources/Load/LoadModel": ["Modules/FoundationEssentials"],
    "Sources/Load/LoadScenarios": ["Sources/Load/LoadModel", "Sources/Core/SettingFiles", "Packages/Crypto"],
    "Sources/Commands/DecisionTables": ["Sources/Core/TouchstonePolicy"],
    "Sources/Commands/touchstone": [
      "Sources/Service/TouchstoneServer", "Sources/Clients/TouchstoneClient",
    ],
    "Tests/Support/TestSupport": ["Modules/Glibc"],
    "Tests/Support/StoreModel": ["Sources/Core/TouchstonePolicy"],
    "Tests/Stores/TouchstoneStoreSQLiteTests": ["Sources/System/CSQLite", "Modules/Testing"],
    "Tests/Interop/Server": ["Sources/RPC/DispatchRPC"],
  ])

  @Test("What may be is not found")
  func silent() {
    #expect(Architecture.violations(in: Self.allowed) == [])
  }

  /// An arrow too many, and why.
  private static let forbidden = [
    ("Sources/Core/Encodings", "Sources/Core/TouchstonePolicy", "knows nothing of what they mean"),
    ("Sources/Core/TouchstonePolicy", "Modules/Glibc", "rules have no clock"),
    ("Sources/Core/TouchstonePolicy", "Sources/Core/TouchstoneCodec", "rules have no clock"),
    ("Sources/Commands/DecisionTables", "Modules/Glibc", "tables play the rules"),
    ("Sources/Core/TouchstoneCodec", "Sources/Core/TouchstonePolicy", "messages decide nothing"),
    ("Sources/Core/TouchstoneCodec", "Packages/Crypto", "messages decide nothing"),
    ("Sources/Core/TouchstoneCrypto", "Sources/Core/TouchstonePolicy", "crypto works on bytes"),
    ("Sources/Core/TouchstoneAttestation", "Sources/Core/TouchstonePolicy", "judged by its bytes alone"),
    ("Sources/Core/SettingFiles", "Sources/Core/TouchstonePolicy", "knows no settings"),
    ("Sources/Core/FilePermissions", "Sources/Core/TouchstoneStore", "knows no file of ours"),
    ("Sources/Core/TouchstoneMetrics", "Sources/Core/TouchstonePolicy", "decides nothing"),
    ("Sources/Core/TouchstoneTraces", "Modules/Dispatch", "a trace is a value"),
    ("Sources/Core/TouchstoneStore", "Sources/Core/TouchstoneCrypto", "knows no store"),
    ("Sources/Stores/TouchstoneStoreSQLite", "Sources/Core/TouchstoneCrypto", "sealed bytes and no key"),
    ("Sources/Stores/TouchstoneStoreSQLite", "Sources/RPC/DispatchRPC", "receives no calls"),
    ("Sources/RPC/RPCChannel", "Sources/Core/TouchstonePolicy", "know nothing of Touchstone"),
    ("Sources/RPC/DispatchRPC", "Packages/Logging", "know nothing of Touchstone"),
    ("Sources/RPC/DispatchRPC", "Sources/RPC/DispatchPool", "meet in RPCChannel"),
    ("Sources/RPC/DispatchHTTP", "Sources/RPC/DispatchPool", "calls no others"),
    ("Sources/RPC/DispatchPool", "Sources/System/CEpoll", "takes any connections"),
    ("Sources/Service/TouchstoneService", "Sources/Stores/TouchstoneStoreSQLite", "takes any store"),
    ("Sources/Service/TouchstoneService", "Sources/Service/TouchstoneConsole", "the console calls the service"),
    ("Sources/Service/TouchstoneConsole", "Sources/Stores/TouchstoneStoreSQLite", "the process is another target's"),
    ("Sources/Service/TouchstoneServer", "Sources/Clients/TouchstoneClient", "calls no service"),
    ("Sources/Clients/TouchstoneClient", "Sources/Service/TouchstoneService", "by its messages"),
    ("Sources/Clients/LocalAuthentication", "Sources/RPC/DispatchRPC", "without any service"),
    ("kits/ios/Sources/TouchstoneKitCore", "Sources/Clients/LocalAuthentication", "need no phone"),
    ("kits/ios/Sources/TouchstoneKit", "Sources/Core/TouchstoneCodec", "its own backend"),
    ("Sources/Load/LoadModel", "Sources/RPC/DispatchRPC", "a load's books"),
    ("Sources/Load/LoadScenarios", "Sources/Clients/TouchstoneClient", "a load's books"),
    ("Sources/Commands/touchstone", "Tests/Support/TestSupport", "carries no tests"),
    ("Sources/RPC/DispatchPool", "Modules/FoundationEssentials", "Foundation costs"),
    ("Sources/Commands/touchstone", "Sources/Clients/LocalAuthentication", "Foundation's ICU"),
    ("Sources/Service/TouchstoneService", "Modules/TouchstoneClient", "grants no such import"),
    ("Sources/Clients/TouchstoneClient", "Sources/Core/TouchstonePolicy", "the service translates"),
    ("Sources/Clients/TouchstoneClient", "Sources/System/CZlib", "owns its pointers"),
    ("Sources/RPC/EventLoops", "Sources/RPC/DispatchRPC", "knows descriptors"),
    ("Tests/Interop/Server", "Sources/Core/TouchstoneCodec", "compared with is the transport"),
    ("Tests/Support/TestSupport", "Sources/Core/TouchstonePolicy", "any test may use it"),
    ("Tests/Support/StoreModel", "Sources/Core/TouchstoneCodec", "the service translates"),
    ("Tests/Stores/TouchstoneStoreSQLiteTests", "Sources/System/CZlib", "behind a facade"),
  ]

  @Test("Each forbidden arrow is found, and told with its reason", arguments: forbidden)
  func found(from: String, to: String, reason: String) {
    var graph = Self.allowed
    graph.arrows[from, default: []].insert(to)
    #expect(Architecture.violations(in: graph).contains { $0.hasPrefix("\(from) sees ") && $0.contains(reason) })
  }

  @Test("Every reason was found")
  func reasons() {
    for rule in Architecture.forbidden {
      #expect(Self.forbidden.contains { rule.reason.contains($0.2) }, "\(rule.reason)")
    }
  }

  // MARK: Imports

  @Test(
    "Every way to write an import",
    arguments: [
      "import TouchstoneCodec",
      "  import TouchstoneCodec  // indented, with a comment",
      "package import TouchstoneCodec",
      "@preconcurrency internal import TouchstoneCodec",
      "@_spi(Tests) @testable import TouchstoneCodec",
      "import struct TouchstoneCodec.MessageCoder",
      "import TouchstoneCodec.MessageCoder",
      // Escaped, or this file would import it.
      "let a = 1\u{3B} import TouchstoneCodec",
      "/* why */ import TouchstoneCodec",
      "#if os(Linux)\nimport TouchstoneCodec\n#endif",
    ])
  func spelling(source: String) {
    #expect(ImportScanner.modules(in: source) == ["TouchstoneCodec"])
  }

  @Test(
    "What only looks like one",
    arguments: [
      "// import TouchstoneCodec",
      "/* outer /* inner */\nimport TouchstoneCodec\n*/",
      "let text = \"\"\"\n  import TouchstoneCodec\n  \"\"\"",
      "let importTouchstoneCodec = 1",
      "importer.import(TouchstoneCodec.self)",
    ])
  func lookalikes(source: String) {
    #expect(ImportScanner.modules(in: source) == [])
  }
}
