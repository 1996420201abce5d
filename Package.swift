// swift-tools-version: 6.2
import PackageDescription

/// One set of settings for every Swift target: complete concurrency checking, explicit imports and existentials,
/// and no warning left standing.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

/// A part of a phone kit, which is a package of its own, too: without our flags, as its users compile it.
func kit(_ path: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: path.split(separator: "/").last.map(String.init) ?? path, dependencies: dependencies, path: "kits/\(path)",
    swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
}

/// What only tests share.
func support(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", swiftSettings: settings)
}

/// Set by `make release ACCELERATED=1`, which also fetches Intel's crypto_mb for batches of signatures.
let isAccelerated = Context.environment["TOUCHSTONE_ACCELERATED"] == "1"

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")

/// The folder of Sources or Tests that a target is in says what kind of thing it is.
func library(
  _ folder: String, _ name: String, _ dependencies: [Target.Dependency] = [], defines: [SwiftSetting] = []
) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: settings + defines)
}

func systemLibrary(_ name: String, pkgConfig: String? = nil, package: String? = nil) -> Target {
  .systemLibrary(
    name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

func tests(
  _ folder: String, _ target: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
  .testTarget(
    name: "\(target)Tests", dependencies: [.target(name: target)] + dependencies,
    path: "Tests/\(folder)/\(target)Tests", exclude: exclude, swiftSettings: settings)
}

let package = Package(
  name: "touchstone",
  products: [
    .executable(name: "touchstone", targets: ["touchstone"]),
    .executable(name: "touchstone-load", targets: ["touchstone-load"]),
    .library(name: "TouchstoneClient", targets: ["TouchstoneClient", "TouchstoneCodec"]),
    .library(name: "LocalAuthentication", targets: ["LocalAuthentication", "SimulatedPhone"]),
    .library(name: "Security", targets: ["Security"]),
    .library(name: "DispatchRPC", targets: ["DispatchRPC", "EventLoops"]),
    .library(name: "DispatchPool", targets: ["DispatchPool"]),
    .library(name: "RPCChannel", targets: ["RPCChannel", "DispatchRPC", "DispatchPool", "EventLoops"]),
  ],
  // Exact: what is built is what was tested. CONTRIBUTING.md says how they are raised.
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
  ],
  targets: [
    // C: system libraries and generated code.
    systemLibrary("CProtobufC", pkgConfig: "libprotobuf-c", package: "libprotobuf-c-dev"),
    systemLibrary("CNGHTTP2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
    systemLibrary("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    systemLibrary("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    systemLibrary("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
    systemLibrary("CPostgres", pkgConfig: "libpq", package: "libpq-dev"),
    systemLibrary("CYAML", pkgConfig: "yaml-0.1", package: "libyaml-dev"),
    systemLibrary("CArgon2", pkgConfig: "libargon2", package: "libargon2-dev"),
    // Empty in a build that is not accelerated.
    systemLibrary("CCryptoMB", pkgConfig: isAccelerated ? "crypto_mb" : nil),
    systemLibrary("CEpoll"),
    systemLibrary("CProcess"),
    systemLibrary("CExtendedAttributes"),
    .target(name: "CTouchstoneProto", dependencies: ["CProtobufC"], path: "Sources/Core/CTouchstoneProto"),

    // Knows nothing of Touchstone. Bytes, times and texts in the forms that others read, too: Base64, hexadecimal
    // digits, the calendar, JSON's strings.
    library("Core", "Encodings"),
    library("RPC", "MonotonicClock"),
    library("RPC", "EventLoops", ["MonotonicClock", "CEpoll"]),
    library("RPC", "DispatchRPC", ["EventLoops", "Encodings", "CNGHTTP2", "COpenSSL", "CZlib", "CEpoll"]),
    library("RPC", "DispatchHTTP", ["DispatchRPC", "Encodings"]),
    library("RPC", "DispatchPool", ["MonotonicClock"]),
    library("RPC", "RPCChannel", ["DispatchRPC", "DispatchPool"]),

    // The rules, the bytes, the store: each alone.
    library("Core", "TouchstonePolicy"),
    library("Commands", "DecisionTables", ["TouchstonePolicy"]),
    library("Core", "TouchstoneCodec", ["Encodings", "CTouchstoneProto", "CProtobufC"]),
    library("Core", "TouchstoneStore", ["Encodings", "TouchstonePolicy", crypto]),
    library("Stores", "TouchstoneStoreSQLite", ["TouchstoneStore", "TouchstonePolicy", "FilePermissions", "CSQLite"]),
    library(
      "Stores", "TouchstoneStorePostgres",
      ["TouchstoneStore", "TouchstonePolicy", "Encodings", "DispatchPool", "EventLoops", "CPostgres"]),
    library(
      "Core", "TouchstoneCrypto", ["Encodings", "CArgon2", "CCryptoMB", crypto],
      defines: isAccelerated ? [.define("ACCELERATED")] : []),
    // Judges bytes that phones send: against roots, a time and what is expected, without I/O.
    .target(
      name: "TouchstoneAttestation",
      dependencies: ["Encodings", "COpenSSL", crypto, .product(name: "SwiftASN1", package: "swift-asn1")],
      path: "Sources/Core/TouchstoneAttestation",
      exclude: ["Roots/README.md"],
      resources: [.embedInCode("Roots")],
      swiftSettings: settings),
    library("Core", "SettingFiles", ["CYAML", "Encodings"]),
    // The table of what is counted, the numbers, and their text for Prometheus.
    library("Core", "TouchstoneMetrics"),
    // Traces as values: ids, sampling, what waits for the collector, and the message that it takes.
    library("Core", "TouchstoneTraces", ["Encodings"]),
    library("Core", "FilePermissions", ["CExtendedAttributes"]),

    library(
      "Stores", "TouchstoneArchive",
      ["TouchstoneStore", "TouchstonePolicy", "TouchstoneCrypto", "Encodings", "FilePermissions"]),

    // Where they meet.
    library(
      "Service", "TouchstoneService",
      [
        "TouchstonePolicy", "TouchstoneCodec", "TouchstoneStore", "TouchstoneCrypto", "TouchstoneAttestation",
        "TouchstoneMetrics", "TouchstoneTraces", "Encodings", "DispatchRPC",
        .product(name: "Logging", package: "swift-log"),
      ]),
    // The operators' view of the service in a browser.
    .target(
      name: "TouchstoneConsole",
      dependencies: [
        "TouchstoneService", "TouchstonePolicy", "TouchstoneCodec", "TouchstoneCrypto", "TouchstoneAttestation",
        "Encodings", "DispatchHTTP", "DispatchRPC",
      ],
      path: "Sources/Service/TouchstoneConsole",
      resources: [
        .embedInCode("Style/console.css"), .embedInCode("Script/passkey.js"), .embedInCode("Texts/Languages"),
      ],
      swiftSettings: settings),
    // The process around the service: configuration, keys, the store that is opened, upkeep, reload, drain.
    library(
      "Service", "TouchstoneServer",
      [
        "TouchstoneService", "TouchstoneConsole", "TouchstonePolicy", "TouchstoneStore", "TouchstoneStoreSQLite",
        "TouchstoneStorePostgres", "TouchstoneArchive", "TouchstoneCrypto", "TouchstoneAttestation", "TouchstoneCodec",
        "TouchstoneMetrics", "TouchstoneTraces", "Encodings", "EventLoops", "DispatchRPC", "DispatchHTTP", "RPCChannel",
        "SettingFiles", "FilePermissions",
        .product(name: "Logging", package: "swift-log"),
      ]),
    library("Clients", "TouchstoneClient", ["TouchstoneCodec", "RPCChannel", "DispatchRPC", "DispatchPool", metrics]),
    library("Clients", "SimulatedPhone", ["Encodings", crypto]),
    library("Clients", "LocalAuthentication", ["SimulatedPhone"]),
    library("Clients", "Security", ["LocalAuthentication"]),
    kit("ios/Sources/TouchstoneKitCore"),
    kit("ios/Sources/TouchstoneKit", ["TouchstoneKitCore", "LocalAuthentication"]),

    // When calls are due, what became of them, and whether that is good enough: values, without clock or I/O.
    library("Load", "LoadModel"),
    // What simulated people do, and whether the answers are right.
    library("Load", "LoadScenarios", ["LoadModel", "Encodings", "SettingFiles", crypto]),

    // The process of a program: version, arguments, end.
    .target(
      name: "CommandProgram",
      dependencies: ["TerminalText", argumentParser],
      path: "Sources/Commands/CommandProgram",
      resources: [.embedInCode("VERSION")],
      swiftSettings: settings),
    // The options of both programs that say which service to call, and with which credentials.
    library("Commands", "ServiceDestination", ["DispatchRPC", argumentParser]),
    // Tables and texts of strangers as a terminal may show them.
    library("Commands", "TerminalText"),
    .executableTarget(
      name: "touchstone",
      dependencies: [
        "CommandProgram", "ServiceDestination", "TerminalText",
        "TouchstoneServer", "TouchstoneService", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstoneStorePostgres",
        "TouchstoneArchive", "TouchstonePolicy", "FilePermissions", "TouchstoneCrypto", "TouchstoneClient",
        "TouchstoneCodec", "DispatchRPC", "SimulatedPhone", "DecisionTables", "TouchstoneAttestation", "Encodings",
        "CProcess",
        argumentParser,
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Commands/touchstone",
      swiftSettings: settings),
    .executableTarget(
      name: "touchstone-load",
      dependencies: [
        "LoadModel", "LoadScenarios", "MonotonicClock", "TouchstoneClient", "RPCChannel",
        "DispatchRPC", "SimulatedPhone", "Encodings", "CommandProgram", "ServiceDestination",
        argumentParser,
      ],
      path: "Sources/Commands/touchstone-load",
      swiftSettings: settings),

    // What tests share.
    .systemLibrary(name: "CSpawn", path: "Tests/Support/CSpawn"),
    support("TestSupport", ["CSpawn", "COpenSSL", "CPostgres", "CZlib"]),
    support("RPCLoopback", ["DispatchRPC", "TestSupport"]),
    support("CodecMessages", ["TouchstoneCodec"]),
    support("StoreConformance", ["TouchstoneStore", "TouchstonePolicy", "Encodings"]),
    support("StoreModel", ["TouchstoneStore", "TouchstonePolicy"]),

    tests("Core", "Encodings"),
    tests(
      "RPC", "DispatchRPC", ["CNGHTTP2", "COpenSSL", "CEpoll", "RPCLoopback", "TestSupport"], exclude: ["crosscheck"]),
    tests("RPC", "EventLoops", ["TestSupport"]),
    tests("RPC", "DispatchHTTP", ["DispatchRPC", "RPCLoopback", "TestSupport"]),
    tests("RPC", "DispatchPool", ["TestSupport"]),
    tests("RPC", "RPCChannel", ["DispatchRPC", "DispatchPool", "RPCLoopback", "TestSupport"]),
    tests("Core", "TouchstonePolicy", ["TestSupport", crypto]),
    tests("Commands", "TerminalText"),
    tests("Commands", "DecisionTables", ["TouchstonePolicy", "TestSupport"]),
    tests("Core", "TouchstoneCodec", ["CodecMessages", "TestSupport"], exclude: ["crosscheck"]),
    tests("Core", "TouchstoneStore", ["TouchstonePolicy", "TestSupport", crypto]),
    tests(
      "Stores", "TouchstoneStoreSQLite",
      ["StoreConformance", "TestSupport", "TouchstoneStore", "TouchstonePolicy", "Encodings", "CSQLite"]),
    // Beside the tests, which start it.
    .executableTarget(
      name: "store-participants", dependencies: ["StoreConformance", "TouchstoneStorePostgres"],
      path: "Tests/Support/StoreParticipants", swiftSettings: settings),
    tests(
      "Stores", "TouchstoneStorePostgres",
      [
        "StoreConformance", "TestSupport", "TouchstoneStore", "TouchstonePolicy", "TouchstoneStoreSQLite", "Encodings",
        "DispatchPool", "EventLoops",
      ]),
    tests("Core", "TouchstoneCrypto", ["Encodings", "TestSupport", crypto]),
    tests("Core", "TouchstoneAttestation", ["TestSupport", crypto]),
    tests("Core", "TouchstoneMetrics"),
    tests("Core", "TouchstoneTraces"),
    tests("Core", "FilePermissions", ["TestSupport", "CExtendedAttributes"]),
    tests(
      "Stores", "TouchstoneArchive",
      [
        "StoreConformance", "StoreModel", "TestSupport", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstonePolicy",
        "Encodings",
      ]),
    tests(
      "Service", "TouchstoneService",
      [
        "TouchstoneAttestation", "TouchstoneCodec", "TouchstonePolicy", "TouchstoneStore", "TouchstoneCrypto",
        "TouchstoneMetrics", "TouchstoneTraces", "Encodings", "DispatchRPC", "SimulatedPhone",
        "StoreConformance", "StoreModel", "TestSupport", crypto,
        .product(name: "Logging", package: "swift-log"), .product(name: "InMemoryLogging", package: "swift-log"),
      ], exclude: ["Dialogues"]),
    tests(
      "Service", "TouchstoneConsole",
      [
        "TouchstoneService", "TouchstoneCodec", "TouchstoneCrypto", "TouchstonePolicy", "DispatchHTTP",
        "DispatchRPC", "TestSupport",
      ]),
    tests(
      "Service", "TouchstoneServer",
      [
        "TouchstonePolicy", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstoneCrypto", "TouchstoneCodec",
        "TouchstoneAttestation", "TouchstoneClient", "TouchstoneMetrics", "TouchstoneService", "DispatchRPC",
        "Encodings", "SettingFiles", "StoreConformance", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "Clients", "TouchstoneClient",
      ["TouchstoneCodec", "RPCChannel", "DispatchRPC", "RPCLoopback", "TestSupport", metrics]),
    tests("Clients", "SimulatedPhone", ["TouchstoneAttestation", "TestSupport", crypto]),
    tests("Load", "LoadModel", ["TestSupport"]),
    tests("Load", "LoadScenarios", ["LoadModel", crypto]),
    // Apps' code as it is written for Apple's module: in both language modes, with no flag of ours but warnings.
    .target(
      name: "AppsInSwift5", dependencies: ["LocalAuthentication", "Security"], path: "Tests/Support/AppleStyles/Swift5",
      swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
    .target(
      name: "AppsInSwift6", dependencies: ["LocalAuthentication"], path: "Tests/Support/AppleStyles/Swift6",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    tests("Clients", "LocalAuthentication", ["SimulatedPhone", "AppsInSwift5", "AppsInSwift6", "TestSupport"]),
    // The app of examples/shop on a simulated phone.
    .executableTarget(
      name: "shop-phone",
      dependencies: ["TouchstoneKit", "LocalAuthentication", "SimulatedPhone"],
      path: "examples/shop/phone", swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),

    // The kit decides the vectors, and plays an app against the service. Its example is compiled against stubs.
    kit("ios/Tests/SwiftUIStubs"),
    kit("ios/Examples/LoginScreen", ["TouchstoneKit", "SwiftUIStubs"]),
    .testTarget(
      name: "TouchstoneKitTests",
      dependencies: [
        "TouchstoneKit", "TouchstoneKitCore", "LocalAuthentication", "SimulatedPhone", "TouchstoneService",
        "TouchstoneStoreSQLite", "TouchstoneClient", "TouchstoneCodec", "TouchstoneCrypto", "TouchstonePolicy",
        "TouchstoneAttestation", "DispatchRPC", "TestSupport", crypto, .product(name: "Logging", package: "swift-log"),
      ], path: "kits/ios/Tests/TouchstoneKitTests", swiftSettings: settings),
    // All of the service in one process, by seeds: no target's alone.
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "TouchstoneService", "TouchstoneAttestation", "TouchstoneCodec", "TouchstonePolicy", "TouchstoneStore",
        "TouchstoneCrypto", "Encodings", "DispatchRPC", "SimulatedPhone", "StoreModel", "TestSupport", crypto,
        .product(name: "Logging", package: "swift-log"),
      ], path: "Tests/Service/SimulationTests", swiftSettings: settings),
    // grpc's own interoperability tests (Tests/Interop/interop.py): the test service and its client.
    .target(name: "InteropSupport", path: "Tests/Interop/Support", swiftSettings: settings),
    .executableTarget(
      name: "interop-server", dependencies: ["DispatchRPC", "InteropSupport"], path: "Tests/Interop/Server",
      swiftSettings: settings),
    .executableTarget(
      name: "interop-client", dependencies: ["DispatchRPC", "RPCChannel", "InteropSupport"],
      path: "Tests/Interop/Client", swiftSettings: settings),
    // What grpc's C++ and Go are measured against (Tests/Benchmarks/peers.py).
    .executableTarget(
      name: "rpc-echo", dependencies: ["DispatchRPC"], path: "Tests/Benchmarks/rpc/echo", swiftSettings: settings),
    .executableTarget(
      name: "rpc-load", dependencies: ["DispatchRPC"], path: "Tests/Benchmarks/rpc/load", swiftSettings: settings),
    .executableTarget(
      name: "rpc-overload", dependencies: ["DispatchRPC"], path: "Tests/Benchmarks/rpc/overload",
      swiftSettings: settings),
    .executableTarget(
      name: "rpc-pool", dependencies: ["RPCChannel", "DispatchRPC", "DispatchPool"], path: "Tests/Benchmarks/rpc/pool",
      swiftSettings: settings),
    // Compares crypto_mb's answers with swift-crypto's (Tests/Accelerated/accelerated.py).
    .executableTarget(
      name: "accelerated-check", dependencies: ["TouchstoneCrypto", crypto], path: "Tests/Accelerated/Check",
      swiftSettings: settings),
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "DispatchRPC", "DispatchHTTP", "TouchstoneCodec", "CodecMessages", "TouchstoneCrypto", "TouchstoneAttestation",
        "TouchstonePolicy", "Encodings",
        "DecisionTables", "TestSupport",
      ], path: "Tests/Fuzz", exclude: ["Seeds", "Findings", "run"], swiftSettings: settings),
    .testTarget(
      name: "StructureTests", dependencies: ["TestSupport"], path: "Tests/StructureTests", swiftSettings: settings),
  ]
)

// Builds with a sanitizer go without the tests that gain nothing by it (Tests/Support/Sanitizers/build).
let omittedTests = Set((Context.environment["TOUCHSTONE_OMITTED_TESTS"] ?? "").split(separator: " ").map(String.init))
package.targets.removeAll { omittedTests.contains($0.name) }
