// Which target may see which. This table is the architecture's word; the tests hold the sources and the manifest to it.

/// What one target may import: other targets of this package, modules of packages, modules of the system.
struct ArrowRow: Sendable {
  let target: String
  let siblings: Set<String>
  let packages: Set<String>
  let system: Set<String>
  /// Where its sources are.
  let directory: String

  init(
    _ target: String, _ siblings: Set<String> = [], packages: Set<String> = [], system: Set<String> = [],
    directory: String? = nil
  ) {
    self.target = target
    self.directory = directory ?? "Sources/\(target)"
    self.siblings = siblings
    self.packages = packages
    self.system = system
  }

  var importable: Set<String> { siblings.union(packages).union(system) }
}

enum ArrowTable {
  static let rows: [ArrowRow] = [
    // The rules: the standard library and nothing else. No clock, I/O, crypto, locks or logging.
    ArrowRow("TouchstonePolicy"),
    // Policies tested by tables that people read.
    ArrowRow("DecisionTables", ["TouchstonePolicy"]),

    // Bytes and messages.
    ArrowRow("CTouchstoneProto", ["CProtobufC"]),
    ArrowRow("TouchstoneCodec", ["CTouchstoneProto", "CProtobufC"], system: platform),

    // What is kept, and where.
    ArrowRow("TouchstoneStore", ["TouchstonePolicy"], packages: ["Crypto"], system: platform),
    ArrowRow("TouchstoneStoreSQLite", ["TouchstoneStore", "TouchstonePolicy", "CSQLite"], system: platform),
    ArrowRow(
      "TouchstoneStorePostgres", ["TouchstoneStore", "TouchstonePolicy", "DispatchPool", "CPostgres"],
      system: platform),

    ArrowRow(
      "TouchstoneCrypto", ["CArgon2"], packages: ["Crypto"], system: platform.union(["FoundationEssentials"])),

    // What leaves the store for files.
    ArrowRow("TouchstoneArchive", ["TouchstoneStore", "TouchstonePolicy", "TouchstoneCrypto"], system: platform),

    // Transport: knows nothing of Touchstone.
    ArrowRow("DispatchRPC", ["CNGHTTP2", "COpenSSL", "CZlib", "CEpoll"], system: platform),
    ArrowRow("DispatchPool", system: platform),
    ArrowRow("RPCChannel", ["DispatchRPC", "DispatchPool"], system: platform),

    // Where they meet.
    ArrowRow(
      "TouchstoneService",
      ["TouchstonePolicy", "TouchstoneCodec", "TouchstoneStore", "TouchstoneCrypto", "DispatchRPC"],
      packages: ["Logging"], system: platform),
    ArrowRow("TouchstoneClient", ["TouchstoneCodec", "RPCChannel", "DispatchRPC", "DispatchPool"], system: platform),

    // The phone's side.
    ArrowRow("SimulatedPhone", packages: ["Crypto"], system: platform.union(["FoundationEssentials"])),
    ArrowRow("LocalAuthentication", ["SimulatedPhone"], system: platform.union(["Foundation"])),

    ArrowRow("Security", ["LocalAuthentication"]),

    // The executables wire the rest.
    ArrowRow(
      "touchstone",
      [
        "TouchstoneService", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstoneStorePostgres", "TouchstoneArchive",
        "TouchstonePolicy", "TouchstoneCrypto", "TouchstoneClient", "TouchstoneCodec", "DispatchRPC", "DispatchPool",
        "SimulatedPhone",
        "DecisionTables", "CYAML", "CProcess",
      ],
      packages: ["ArgumentParser", "Logging"], system: platform.union(["FoundationEssentials"])),
    ArrowRow(
      "touchstone-load",
      ["TouchstoneClient", "TouchstoneCodec", "DispatchRPC", "DispatchPool", "SimulatedPhone"],
      packages: ["ArgumentParser", "Histogram"], system: platform.union(["FoundationEssentials"])),

    // What tests share.
    support("ChildProcess", ["CSpawn"]),
    support("TemporaryFiles"),
    support("SeededGenerator"),
    support("TestPeers"),
    support("TestCertificates", ["COpenSSL"]),
    support("CodecMessages", ["TouchstoneCodec"]),
    support("StoreConformance", ["TouchstoneStore", "TouchstonePolicy"]),
    support("StoreModel", ["TouchstoneStore", "TouchstonePolicy"]),
    support("PostgresServer", ["ChildProcess", "TestPeers"]),
    ArrowRow(
      "store-participants", ["StoreConformance", "TouchstoneStore", "TouchstoneStorePostgres"], system: platform,
      directory: "Tests/Support/StoreParticipants"),
    ArrowRow(
      "AppsInSwift5", ["LocalAuthentication", "Security"], system: ["Foundation"],
      directory: "Tests/Support/AppleStyles/Swift5"),
    ArrowRow("AppsInSwift6", ["LocalAuthentication"], directory: "Tests/Support/AppleStyles/Swift6"),

    // grpc's own interoperability tests, and what is measured: programs on the transport alone.
    ArrowRow("InteropSupport", system: platform, directory: "Tests/Interop/Support"),
    ArrowRow("interop-server", ["InteropSupport", "DispatchRPC"], system: platform, directory: "Tests/Interop/Server"),
    ArrowRow("rpc-echo", ["DispatchRPC"], system: platform, directory: "Tests/Benchmarks/rpc/echo"),
    ArrowRow("rpc-overload", ["DispatchRPC"], system: platform, directory: "Tests/Benchmarks/rpc/overload"),
    ArrowRow(
      "interop-client", ["InteropSupport", "DispatchRPC", "RPCChannel"], system: platform,
      directory: "Tests/Interop/Client"),
    ArrowRow(
      "rpc-pool", ["RPCChannel", "DispatchRPC", "DispatchPool"], system: platform,
      directory: "Tests/Benchmarks/rpc/pool"),
  ]

  private static func support(_ target: String, _ siblings: Set<String> = []) -> ArrowRow {
    ArrowRow(target, siblings, packages: ["Testing"], system: platform, directory: "Tests/Support/\(target)")
  }

  /// Each C library has one facade; nobody else touches its pointers.
  static let facades = [
    "CProtobufC": ["CTouchstoneProto", "TouchstoneCodec"],
    "CTouchstoneProto": ["TouchstoneCodec"],
    "CNGHTTP2": ["DispatchRPC"],
    "COpenSSL": ["DispatchRPC", "TestCertificates"],
    "CZlib": ["DispatchRPC"],
    "CEpoll": ["DispatchRPC"],
    "CSQLite": ["TouchstoneStoreSQLite"],
    "CPostgres": ["TouchstoneStorePostgres"],
    "CArgon2": ["TouchstoneCrypto"],
    "CYAML": ["touchstone"],
    "CProcess": ["touchstone"],
  ]

  /// `import Foundation` costs up to 50 MB and 4 ms of start.
  static let withoutFoundation = [
    "TouchstonePolicy", "TouchstoneCodec", "DispatchRPC", "DispatchPool", "RPCChannel", "TouchstoneStore",
    "TouchstoneStoreSQLite", "TouchstoneStorePostgres", "TouchstoneArchive",
  ]

  static func row(_ target: String) -> ArrowRow? {
    rows.first { $0.target == target }
  }

  /// All siblings that a target sees, directly or through others.
  static func reach(of target: String) -> Set<String> {
    var reached: Set<String> = []
    var waiting = [target]
    while let next = waiting.popLast() {
      for sibling in row(next)?.siblings ?? [] where reached.insert(sibling).inserted { waiting.append(sibling) }
    }
    return reached
  }

  private static let platform: Set<String> = ["Dispatch", "Glibc", "Synchronization"]
}
