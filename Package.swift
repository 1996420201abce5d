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

/// What only tests share.
func support(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", swiftSettings: settings)
}

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ target: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
  .testTarget(
    name: "\(target)Tests", dependencies: [.target(name: target)] + dependencies, exclude: exclude,
    swiftSettings: settings)
}

let package = Package(
  name: "touchstone",
  products: [
    .executable(name: "touchstone", targets: ["touchstone"]),
    .executable(name: "touchstone-load", targets: ["touchstone-load"]),
    .library(name: "TouchstoneClient", targets: ["TouchstoneClient", "TouchstoneCodec"]),
    .library(name: "LocalAuthentication", targets: ["LocalAuthentication", "SimulatedPhone"]),
    .library(name: "Security", targets: ["Security"]),
    .library(name: "DispatchRPC", targets: ["DispatchRPC"]),
    .library(name: "DispatchPool", targets: ["DispatchPool"]),
    .library(name: "RPCChannel", targets: ["RPCChannel", "DispatchRPC", "DispatchPool"]),
  ],
  // Exact: what is built is what was tested. CONTRIBUTING.md says how they are raised.
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
  ],
  targets: [
    // C: system libraries and generated code.
    .systemLibrary(name: "CProtobufC", pkgConfig: "libprotobuf-c", providers: [.apt(["libprotobuf-c-dev"])]),
    .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
    .systemLibrary(name: "CEpoll"),
    .systemLibrary(name: "CProcess"),
    .target(name: "CTouchstoneProto", dependencies: ["CProtobufC"]),

    // Knows nothing of Touchstone.
    library("DispatchRPC", ["CNGHTTP2", "COpenSSL", "CZlib", "CEpoll"]),
    library("DispatchPool"),
    library("RPCChannel", ["DispatchRPC", "DispatchPool"]),

    // The rules, the bytes, the store: each alone.
    library("TouchstonePolicy"),
    library("DecisionTables", ["TouchstonePolicy"]),
    library("TouchstoneCodec", ["CTouchstoneProto", "CProtobufC"]),
    library("TouchstoneStore", ["TouchstonePolicy", crypto]),
    library("TouchstoneStoreSQLite", ["TouchstoneStore", "TouchstonePolicy", "CSQLite"]),
    library("TouchstoneStorePostgres", ["TouchstoneStore", "TouchstonePolicy", "DispatchPool", "CPostgres"]),
    library("TouchstoneCrypto", ["CArgon2", crypto]),

    library("TouchstoneArchive", ["TouchstoneStore", "TouchstonePolicy", "TouchstoneCrypto"]),

    // Where they meet.
    library(
      "TouchstoneService",
      [
        "TouchstonePolicy", "TouchstoneCodec", "TouchstoneStore", "TouchstoneCrypto", "DispatchRPC",
        .product(name: "Logging", package: "swift-log"),
      ]),
    library("TouchstoneClient", ["TouchstoneCodec", "RPCChannel", "DispatchRPC", "DispatchPool"]),
    library("SimulatedPhone", [crypto]),
    library("LocalAuthentication", ["SimulatedPhone"]),
    library("Security", ["LocalAuthentication"]),

    .executableTarget(
      name: "touchstone",
      dependencies: [
        "TouchstoneService", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstoneStorePostgres", "TouchstoneArchive",
        "TouchstonePolicy",
        "TouchstoneCrypto", "TouchstoneClient", "TouchstoneCodec", "DispatchRPC", "SimulatedPhone", "DecisionTables",
        "CYAML", "CProcess",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "touchstone-load",
      dependencies: [
        "TouchstoneClient", "TouchstoneCodec", "DispatchRPC", "SimulatedPhone",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings),

    // What tests share.
    .systemLibrary(name: "CSpawn", path: "Tests/Support/CSpawn"),
    support("ChildProcess", ["CSpawn"]),
    support("TemporaryFiles"),
    support("SeededGenerator"),
    support("TestPeers"),
    support("TestCertificates", ["COpenSSL"]),
    support("CodecMessages", ["TouchstoneCodec"]),
    support("StoreConformance", ["TouchstoneStore", "TouchstonePolicy"]),
    support("StoreModel", ["TouchstoneStore", "TouchstonePolicy"]),
    support("PostgresServer", ["ChildProcess", "TestPeers"]),

    tests(
      "DispatchRPC", ["CNGHTTP2", "COpenSSL", "TestCertificates", "ChildProcess", "SeededGenerator"],
      exclude: ["crosscheck"]),
    tests("DispatchPool", ["SeededGenerator"]),
    tests("RPCChannel", ["DispatchRPC", "DispatchPool", "TestCertificates", "TestPeers"]),
    tests("TouchstonePolicy", ["SeededGenerator"]),
    tests("DecisionTables", ["TouchstonePolicy", "SeededGenerator"]),
    tests(
      "TouchstoneCodec", ["CTouchstoneProto", "CProtobufC", "CodecMessages", "ChildProcess", "SeededGenerator"],
      exclude: ["crosscheck"]),
    tests("TouchstoneStore", ["TouchstonePolicy", "SeededGenerator", crypto]),
    tests(
      "TouchstoneStoreSQLite", ["StoreConformance", "TemporaryFiles", "TouchstoneStore", "TouchstonePolicy", "CSQLite"]),
    // Beside the tests, which start it.
    .executableTarget(
      name: "store-participants", dependencies: ["StoreConformance", "TouchstoneStore", "TouchstoneStorePostgres"],
      path: "Tests/Support/StoreParticipants", swiftSettings: settings),
    tests(
      "TouchstoneStorePostgres",
      [
        "StoreConformance", "PostgresServer", "ChildProcess", "TemporaryFiles", "SeededGenerator", "TouchstoneStore",
        "TouchstonePolicy",
        "TouchstoneStoreSQLite",
      ]),
    tests("TouchstoneCrypto", [crypto]),
    tests(
      "TouchstoneArchive",
      ["StoreConformance", "TemporaryFiles", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstonePolicy"]),
    tests(
      "TouchstoneService",
      [
        "TouchstoneCodec", "TouchstonePolicy", "TouchstoneStore", "TouchstoneStoreSQLite", "TouchstoneCrypto",
        "DispatchRPC", "SimulatedPhone", "StoreConformance", "StoreModel", "SeededGenerator",
        .product(name: "Logging", package: "swift-log"), .product(name: "InMemoryLogging", package: "swift-log"),
      ], exclude: ["Dialogues"]),
    tests("TouchstoneClient", ["TouchstoneCodec", "RPCChannel", "DispatchRPC", "DispatchPool", "TestPeers"]),
    tests("SimulatedPhone", [crypto]),
    // Apps' code as it is written for Apple's module: in both language modes, with no flag of ours but warnings.
    .target(
      name: "AppsInSwift5", dependencies: ["LocalAuthentication", "Security"], path: "Tests/Support/AppleStyles/Swift5",
      swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
    .target(
      name: "AppsInSwift6", dependencies: ["LocalAuthentication"], path: "Tests/Support/AppleStyles/Swift6",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    tests(
      "LocalAuthentication",
      [
        "SimulatedPhone", "AppsInSwift5", "AppsInSwift6", "TouchstoneService", "TouchstoneStoreSQLite",
        "TouchstoneClient", "TouchstoneCodec", "TouchstoneCrypto", "TouchstonePolicy", "DispatchRPC",
        .product(name: "Logging", package: "swift-log"),
      ]),
    // All of the service in one process, by seeds: no target's alone.
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "TouchstoneService", "TouchstoneCodec", "TouchstonePolicy", "TouchstoneStore", "TouchstoneCrypto",
        "DispatchRPC", "SimulatedPhone", "StoreConformance", "StoreModel", "SeededGenerator", "TestPeers", crypto,
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: settings),
    // grpc's own interoperability tests (Tests/Interop/interop.py): the test service and its client.
    .target(name: "InteropSupport", path: "Tests/Interop/Support", swiftSettings: settings),
    .executableTarget(
      name: "interop-server", dependencies: ["DispatchRPC", "InteropSupport"], path: "Tests/Interop/Server",
      swiftSettings: settings),
    .executableTarget(
      name: "interop-client", dependencies: ["DispatchRPC", "RPCChannel", "InteropSupport"],
      path: "Tests/Interop/Client", swiftSettings: settings),
    // What grpc's C++ and Go are measured against (Tests/Benchmarks/bench_rpc.py).
    .executableTarget(
      name: "rpc-echo", dependencies: ["DispatchRPC"], path: "Tests/Benchmarks/rpc/echo", swiftSettings: settings),
    .executableTarget(
      name: "rpc-overload", dependencies: ["DispatchRPC"], path: "Tests/Benchmarks/rpc/overload",
      swiftSettings: settings),
    .executableTarget(
      name: "rpc-pool", dependencies: ["RPCChannel", "DispatchRPC", "DispatchPool"], path: "Tests/Benchmarks/rpc/pool",
      swiftSettings: settings),
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "DispatchRPC", "TouchstoneCodec", "CodecMessages", "TouchstoneCrypto", "TouchstonePolicy", "DecisionTables",
        "SeededGenerator",
      ], path: "Tests/Fuzz", exclude: ["Seeds", "Findings", "make_seeds.py", "run"], swiftSettings: settings),
    .testTarget(name: "StructureTests", dependencies: ["ChildProcess"], swiftSettings: settings),
  ]
)

// Builds with a sanitizer go without the tests that gain nothing by it (Tests/Support/Sanitizers/build).
let omittedTests = Set((Context.environment["TOUCHSTONE_OMITTED_TESTS"] ?? "").split(separator: " ").map(String.init))
package.targets.removeAll { omittedTests.contains($0.name) }
