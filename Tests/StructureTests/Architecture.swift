// Which target may not see which. The arrows come from the manifest and from the imports; this file has what is
// forbidden.

/// The targets and the modules that they see. A node is a path: a target's ("Sources/Core/TouchstonePolicy"), a
/// package's module ("Packages/Crypto") or any other module that a target imports ("Modules/Foundation").
struct ArrowGraph {
  /// From each target to what it sees by itself.
  var arrows: [String: Set<String>]

  var nodes: Set<String> { arrows.values.reduce(into: Set(arrows.keys)) { $0.formUnion($1) } }

  /// Returns the nodes that a target sees, by itself or through others.
  func reach(of node: String) -> Set<String> {
    var reached: Set<String> = []
    var waiting = [node]
    while let next = waiting.popLast() {
      for seen in arrows[next] ?? [] where reached.insert(seen).inserted { waiting.append(seen) }
    }
    return reached
  }
}

/// No target below `from` sees anything below `to`, neither by itself nor through others.
struct ForbiddenArrow {
  let from: [String]
  let to: [String]
  let except: [String]
  let reason: String

  init(_ from: String..., to: [String], except: [String] = [], _ reason: String) {
    (self.from, self.to, self.except, self.reason) = (from, to, except, reason)
  }

  func violations(in graph: ArrowGraph) -> [String] {
    graph.arrows.keys.filter { $0.isBelow(from) }.flatMap { node in
      graph.reach(of: node).filter { $0.isBelow(to) && !$0.isBelow(except) }.map { "\(node) sees \($0): \(reason)" }
    }
  }
}

enum Architecture {
  /// Any target may use it, because it uses none.
  private static let encodings = "Sources/Core/Encodings"
  private static let policy = "Sources/Core/TouchstonePolicy"
  private static let codec = "Sources/Core/TouchstoneCodec"
  private static let generated = "Sources/Core/CTouchstoneProto"
  private static let store = "Sources/Core/TouchstoneStore"
  private static let crypto = "Sources/Core/TouchstoneCrypto"
  private static let settingFiles = "Sources/Core/SettingFiles"
  private static let filePermissions = "Sources/Core/FilePermissions"
  private static let metrics = "Sources/Core/TouchstoneMetrics"
  private static let traces = "Sources/Core/TouchstoneTraces"
  private static let libraries = "Sources/System"
  private static let system = ["Modules/Dispatch", "Modules/Glibc", "Modules/Synchronization"]
  private static let foundation = ["Modules/Foundation", "Modules/FoundationEssentials"]

  static let forbidden = [
    ForbiddenArrow(
      encodings, to: ["Sources", "Packages", "Modules"], "a form of bytes knows nothing of what they mean"),
    ForbiddenArrow(
      policy, to: ["Sources", "Packages", "Modules"], "rules have no clock, I/O, crypto, locks or logging"),
    ForbiddenArrow(
      "Sources/Commands/DecisionTables", to: ["Sources", "Packages", "Modules"], except: [policy],
      "tables play the rules"),
    ForbiddenArrow(
      codec, to: ["Sources", "Packages"], except: [encodings, generated, "\(libraries)/CProtobufC"],
      "messages decide nothing"),
    ForbiddenArrow(crypto, to: ["Sources"], except: [encodings, libraries], "crypto works on bytes"),
    ForbiddenArrow(
      "Sources/Core/TouchstoneAttestation", to: ["Sources", "Modules/Dispatch", "Modules/Glibc"],
      except: [encodings, libraries],
      "a proof is judged by its bytes alone"),
    ForbiddenArrow(
      settingFiles, to: ["Sources", "Packages"] + foundation, except: [encodings, libraries],
      "the reader knows no settings"),
    ForbiddenArrow(
      filePermissions, to: ["Sources", "Packages"] + foundation, except: [libraries], "the check knows no file of ours"),
    ForbiddenArrow(
      metrics, to: ["Sources", "Packages", "Modules/Dispatch", "Modules/Glibc"] + foundation,
      "a number is counted, and decides nothing"),
    ForbiddenArrow(
      traces, to: ["Sources", "Packages", "Modules"], except: [encodings], "a trace is a value, which others send"),
    ForbiddenArrow(store, to: ["Sources"], except: [encodings, policy], "the store's protocol knows no store"),
    ForbiddenArrow(
      "Sources/Stores/TouchstoneStoreSQLite", "Sources/Stores/TouchstoneStorePostgres", to: [crypto],
      "a store holds sealed bytes and no key"),
    ForbiddenArrow(
      "Sources/Stores", to: [codec, "Sources/Service", "Sources/Clients", "Sources/RPC/DispatchRPC"],
      "a store receives no calls"),
    ForbiddenArrow(
      "Sources/RPC", to: ["Sources", "Packages"], except: ["Sources/RPC", encodings, libraries],
      "transport and pool know nothing of Touchstone"),
    ForbiddenArrow(
      "Sources/RPC/EventLoops", to: ["Sources", "Packages"], except: ["Sources/RPC/MonotonicClock", libraries],
      "an event loop knows descriptors, timers and jobs"),
    ForbiddenArrow(
      "Sources/RPC/DispatchRPC", to: ["Sources/RPC/DispatchPool"], "transport and pool meet in RPCChannel"),
    ForbiddenArrow("Sources/RPC/DispatchHTTP", to: ["Sources/RPC/DispatchPool"], "a server of HTTP calls no others"),
    ForbiddenArrow(
      "Sources/RPC/DispatchPool", to: ["Sources/RPC/DispatchRPC", libraries], "the pool takes any connections"),
    ForbiddenArrow("Sources/Service/TouchstoneService", to: ["Sources/Stores"], "the service takes any store"),
    ForbiddenArrow(
      "Sources/Service/TouchstoneService", to: ["Sources/Service/TouchstoneConsole", "Sources/RPC/DispatchHTTP"],
      "the console calls the service"),
    ForbiddenArrow(
      "Sources/Service/TouchstoneConsole", to: ["Sources/Service/TouchstoneServer", "Sources/Stores"],
      "pages are values, and the process is another target's"),
    ForbiddenArrow("Sources/Service", to: ["Sources/Clients"], "the service calls no service"),
    ForbiddenArrow(
      "Sources/Clients", to: [policy, store, crypto, "Sources/Stores", "Sources/Service"],
      "a client knows the service by its messages"),
    ForbiddenArrow(
      "Sources/Clients/SimulatedPhone", "Sources/Clients/LocalAuthentication", "Sources/Clients/Security",
      to: [codec, "Sources/RPC", "Sources/Clients/TouchstoneClient"], "a phone works without any service"),
    ForbiddenArrow(
      "kits/ios/Sources/TouchstoneKitCore", to: ["Sources", "Packages", "kits", "Modules/Foundation"],
      "a phone's decisions need no phone"),
    ForbiddenArrow(
      "kits/ios/Sources", to: ["Sources", "Packages"],
      except: ["Sources/Clients/LocalAuthentication", "Sources/Clients/SimulatedPhone", encodings, "Packages/Crypto"],
      "an app has a phone, and its own backend"),
    ForbiddenArrow(
      "Sources/Load", to: ["Sources", "Modules/Dispatch", "Modules/Synchronization"],
      except: ["Sources/Load", encodings, settingFiles, libraries],
      "a load's books have no clock or I/O"),
    ForbiddenArrow(
      "Sources", "kits/ios/Sources", to: ["Tests", "Modules/Testing"], "what is delivered carries no tests"),
    ForbiddenArrow(
      "Sources/Core/TouchstoneCodec", store, "Sources/Stores", "Sources/RPC", to: foundation,
      "Foundation costs up to 50 MB and 4 ms of start"),
    ForbiddenArrow("Sources/Commands", to: ["Modules/Foundation"], "the executables go without Foundation's ICU"),
    ForbiddenArrow(
      "Tests/Support/TestSupport", to: ["Sources", "Packages"] + foundation, except: [libraries],
      "any test may use it, and gets no more by it"),
    ForbiddenArrow(
      "Tests/Interop", "Tests/Benchmarks", to: ["Sources"], except: ["Sources/RPC", encodings, libraries],
      "what grpc is compared with is the transport"),
    ForbiddenArrow(
      "Sources", "Tests", to: ["Modules"], except: system + foundation + ["Modules/Testing"],
      "the manifest grants no such import"),
  ]

  /// Where the rules and the messages meet.
  private static let meetings = ["Sources/Service", "Sources/Commands/touchstone"]

  /// The rules' paths that are no target's, and no folder's of targets: a rule on nothing forbids nothing.
  static func strayPaths(in graph: ArrowGraph) -> [String] {
    let paths = Set(
      forbidden.flatMap { $0.from + $0.to + $0.except } + meetings + [libraries, generated, policy, codec])
    return paths.filter { path in !path.hasPrefix("Modules") && !graph.nodes.contains { $0.isBelow([path]) } }.sorted()
  }

  static func violations(in graph: ArrowGraph) -> [String] {
    (forbidden.flatMap { $0.violations(in: graph) } + strayMeetings(in: graph) + secondFacades(in: graph)).sorted()
  }

  private static func strayMeetings(in graph: ArrowGraph) -> [String] {
    graph.arrows.keys
      .filter { $0.isBelow(["Sources", "Tests/Support"]) && !$0.isBelow(meetings) }
      .filter { graph.reach(of: $0).isSuperset(of: [policy, codec]) }
      .map { "\($0) sees \(policy) and \(codec): the service translates between them" }
  }

  /// Connections are one target's, and certificates in proofs another one's; event loops are one's, and libpq's sockets
  /// another one's. They share no object of it.
  private static let sharedLibraries = ["\(libraries)/COpenSSL", "\(libraries)/CEpoll"]

  /// Each C library has one user in Swift, which owns its pointers; beside it, its tests and what tests share may.
  private static func secondFacades(in graph: ArrowGraph) -> [String] {
    let inC = { (node: String) in node.isBelow([libraries, generated]) }
    return Set(graph.arrows.values.joined()).filter(inC).flatMap { library -> [String] in
      let users = graph.arrows.filter { $0.value.contains(library) && !inC($0.key) }.map(\.key)
      let facades = users.filter { $0.isBelow(["Sources"]) }
      let others = users.filter { user in
        !user.isBelow(["Sources", "Tests/Support"]) && !facades.contains { user.hasSuffix("/\($0.lastName)Tests") }
      }
      return (facades.count > 1 && !library.isBelow(sharedLibraries) ? facades : []).map {
        "\($0) sees \(library): one target owns its pointers"
      }
        + others.map { "\($0) sees \(library): it stands behind a facade" }
    }
  }
}

extension String {
  fileprivate func isBelow(_ paths: [String]) -> Bool {
    paths.contains { self == $0 || hasPrefix($0 + "/") }
  }

  fileprivate var lastName: String { String(split(separator: "/").last ?? "") }
}
