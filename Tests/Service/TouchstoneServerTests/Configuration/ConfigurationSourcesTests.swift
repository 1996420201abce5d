// The source of each value, the precedence of sources, and the errors of wrong values.

import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneService

@testable import TouchstoneServer

@Suite("The sources of a configuration")
struct ConfigurationSourcesTests {
  private static func read(
    _ file: String? = nil, _ variables: [String: String] = [:], _ flags: [String] = []
  ) throws -> EffectiveConfiguration {
    let sources = try ConfigurationSources(variables: variables.map { ($0.key, $0.value) }, flags: flags)
    guard let file else { return try sources.read(nil) }
    return try withTemporaryFile(file) { try sources.read($0) }
  }

  private static func withTemporaryFile<Value>(_ text: String, _ body: (String) throws -> Value) throws -> Value {
    let directory = TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    return try body(directory.write(Array(text.utf8), to: "touchstone.yaml"))
  }

  private static func refusal(
    _ file: String? = nil, _ variables: [String: String] = [:], _ flags: [String] = []
  ) -> Failure? {
    do {
      _ = try read(file, variables, flags)
      return nil
    } catch {
      return error as? Failure
    }
  }

  @Test("A flag comes before a variable, a variable before the file, and the file before the default")
  func precedence() throws {
    let (variables, flags) = (["TOUCHSTONE_SHARDS": "3"], ["--shards", "4"])
    #expect(try Self.read().configuration.shards == 0)
    #expect(try Self.read("shards: 2").configuration.shards == 2)
    #expect(try Self.read("shards: 2", variables).configuration.shards == 3)
    #expect(try Self.read("shards: 2", variables, flags).configuration.shards == 4)
    #expect(try Self.read(nil, [:], flags).configuration.shards == 4)
  }

  @Test("A default of the environment counts only if neither file, variable nor flag sets the value")
  func defaultsOfTheEnvironment() throws {
    let image = ["TOUCHSTONE_DEFAULT_LISTEN": "0.0.0.0:1, unix:/s", "TOUCHSTONE_DEFAULT_HTTP_PUBLIC": "127.0.0.1:2"]
    let alone = try Self.read(nil, image)
    #expect(alone.configuration.listen == ["0.0.0.0:1", "unix:/s"])
    #expect(alone.yaml.contains { $0.hasPrefix("listen:") && $0.hasSuffix("# TOUCHSTONE_DEFAULT_LISTEN") })
    #expect(try Self.read("listen: 127.0.0.1:3", image).configuration.listen == ["127.0.0.1:3"])
    let variable = ["TOUCHSTONE_LISTEN": "127.0.0.1:4"]
    #expect(try Self.read(nil, image.merging(variable) { $1 }).configuration.listen == ["127.0.0.1:4"])
    #expect(try Self.read(nil, image, ["--listen", "127.0.0.1:5"]).configuration.listen == ["127.0.0.1:5"])
    // Nor if the file has one value in the place of the section.
    let http = try Self.read("http: 127.0.0.1:6", image).configuration.http?.addresses.map(\.text)
    #expect(http == ["127.0.0.1:6"])
    let section = try Self.read("http: {operators: 127.0.0.1:7}", image).configuration.http?.addresses.map(\.text)
    #expect(section.map(Set.init) == ["127.0.0.1:2", "127.0.0.1:7"])
  }

  @Test("A default is checked as each other value, and holds no secret")
  func wrongDefaults() {
    #expect(
      Self.refusal(nil, ["TOUCHSTONE_DEFAULT_SHARDS": "0"])?.lines == [
        "TOUCHSTONE_DEFAULT_SHARDS: shards must be 1 to 256"
      ])
    for name in ["TOUCHSTONE_DEFAULT_STORE", "TOUCHSTONE_DEFAULT_KEYS", "TOUCHSTONE_DEFAULT_NOTHING"] {
      #expect(Self.refusal(nil, [name: "x"])?.lines.first?.hasPrefix("\(name): there is no such setting") == true)
    }
  }

  @Test("A key in a section leaves the section's other keys as they are")
  func sections() throws {
    let limits = try Self.read(
      "limits: {connections: 5, connection_idle: 1m}", ["TOUCHSTONE_LIMITS_CONNECTIONS": "6"],
      ["--limits-ping-interval=7m"]
    ).configuration.limits
    #expect(limits.connections == 6 && limits.connectionIdle == .seconds(60) && limits.pingInterval == .seconds(420))
  }

  @Test("Lists and mappings are YAML in a variable or a flag")
  func structures() throws {
    let configuration = try Self.read(
      nil, ["TOUCHSTONE_CALLERS": "- name: local\n  methods: \"*\"\n  applications: \"*\"\n"],
      ["--policies", "{mine: {purpose: login, factors: [biometry]}}"]
    ).configuration
    #expect(configuration.service.callers?.map(\.name) == ["local"])
    #expect(configuration.service.policies.last?.name == "mine")
  }

  @Test("Several addresses are separated by commas in a variable, and a flag is repeated")
  func addresses() throws {
    let addresses = ["127.0.0.1:1", "unix:/run/touchstone.sock"]
    #expect(
      try Self.read(nil, ["TOUCHSTONE_LISTEN": addresses.joined(separator: ", ")]).configuration.listen == addresses)
    #expect(
      try Self.read(nil, [:], ["--listen", addresses[0], "--listen", addresses[1]]).configuration.listen == addresses)
  }

  @Test("A text is no YAML: it may look like anything")
  func texts() throws {
    #expect(try Self.read(nil, ["TOUCHSTONE_ISSUER": "{a: [true"]).configuration.service.issuer == "{a: [true")
    #expect(try Self.read(nil, [:], ["--issuer=--x"]).configuration.service.issuer == "--x")
  }

  @Test("One address of HTTP gives way to one for each part, and the other way round")
  func http() throws {
    let parts = "http: {public: \"[::]:1\", operators: \"[::]:2\"}"
    let shared = try Self.read(parts, [:], ["--http", "127.0.0.1:3"]).configuration.http
    #expect(shared?.addresses.map(\.text) == ["127.0.0.1:3"])
    let part = try Self.read("http: 127.0.0.1:3", ["TOUCHSTONE_HTTP_PUBLIC": "[::]:4"]).configuration.http
    #expect(part?.addresses.map(\.setting) == ["http.public"])
  }

  @Test("Without a file all applications belong to one vendor, whatever a variable sets")
  func vendors() throws {
    #expect(try Self.read(nil, ["TOUCHSTONE_SHARDS": "1"]).configuration.service.vendors == nil)
    #expect(try Self.read("", ["TOUCHSTONE_SHARDS": "1"]).configuration.service.vendors != nil)
    #expect(try Self.read(nil, ["TOUCHSTONE_VENDORS": "{a: [shop]}"]).configuration.service.vendors != nil)
  }

  @Test("An empty variable is none")
  func empty() throws {
    #expect(try Self.read("shards: 2", ["TOUCHSTONE_SHARDS": ""]).configuration.shards == 2)
  }

  // MARK: Refusals

  @Test(
    "What is wrong with a variable is said with its name, and without its value",
    arguments: [
      ("TOUCHSTONE_SHARDS", "0", "TOUCHSTONE_SHARDS: shards must be 1 to 256"),
      ("TOUCHSTONE_LISTEN", "nowhere", "TOUCHSTONE_LISTEN: listen must be HOST:PORT"),
      ("TOUCHSTONE_STORE", "mysql://hidden", "TOUCHSTONE_STORE: store must be sqlite, or"),
      ("TOUCHSTONE_CALLERS", "[{nmae: hidden}]", "TOUCHSTONE_CALLERS:1:2: a caller needs"),
      ("TOUCHSTONE_CALLERS", "[", "TOUCHSTONE_CALLERS:"),
      ("TOUCHSTONE_VENDORS", "{a: [b]}\n\t", "TOUCHSTONE_VENDORS:2:1: "),
      ("TOUCHSTONE_LIMIT_CONNECTIONS", "hidden", "did you mean \"TOUCHSTONE_LIMITS_CONNECTIONS\"?"),
      ("TOUCHSTONE_LIMITS", "hidden", "each of its keys, such as TOUCHSTONE_LIMITS_CONNECTIONS"),
      ("TOUCHSTONE_COLOUR", "hidden", "TOUCHSTONE_COLOUR: there is no such setting"),
      ("TOUCHSTONE_ALLOW_PLAINTEXT", "1", "TOUCHSTONE_ALLOW_PLAINTEXT: there is no such setting"),
      ("TOUCHSTONE_", "hidden", "TOUCHSTONE_: there is no such setting"),
    ])
  func variables(name: String, text: String, complaint: String) throws {
    let failure = try #require(Self.refusal(nil, [name: text]))
    #expect(failure.kind == .badConfiguration)
    #expect(failure.lines.contains { $0.contains(complaint) }, "\(failure.lines)")
    #expect(failure.lines.allSatisfy { $0.hasPrefix(name) && !$0.contains("hidden") }, "\(failure.lines)")
  }

  @Test(
    "What is wrong with a flag is wrong usage, and said with its name",
    arguments: [
      (["--shards", "0"], "--shards: shards must be 1 to 256"),
      (["--shards"], "--shards needs a value"),
      (["--shards", "--listen", "x"], "--shards needs a value"),
      (["--shrads", "1"], "there is no flag --shrads (did you mean \"--shards\"?)"),
      (["--allow-plaintxt"], "(did you mean \"--allow-plaintext\"?)"),
      (["-x"], "there is no flag -x"),
      (["postgresql://u:secret@h/d"], "an argument belongs to no flag: settings begin with --"),
      (["--callers", "[{nam: x}]"], "--callers:1:3: \"nam\" is not a setting of a caller (did you mean \"name\"?)"),
      (["--callers", "["], "--callers:"),
      (["--store", "postgresql://a:hidden@db/x"], "--store: a list of processes would show the password"),
      (
        ["--http", "127.0.0.1:1", "--http-public", "127.0.0.1:2"], "--http-public: --http is set, too: use one of them"
      ),
    ])
  func flags(flags: [String], complaint: String) throws {
    let failure = try #require(Self.refusal(nil, [:], flags))
    #expect(failure.kind == .usage)
    #expect(failure.lines.contains { $0.contains(complaint) }, "\(failure.lines)")
    #expect(failure.lines.allSatisfy { !$0.contains("hidden") })
  }

  @Test("Errors of all sources come together, each with its own")
  func together() throws {
    let failure = try #require(
      Self.refusal(
        "tokens: 1\nlimits: 5", ["TOUCHSTONE_SHARDS": "0", "TOUCHSTONE_LIMITS_CONNECTIONS": "7"], ["--issuer="]))
    #expect(failure.kind == .badConfiguration && failure.lines.count == 4)
    #expect(failure.lines[0].contains("touchstone.yaml:1:1: \"tokens\" is not a setting"))
    #expect(failure.lines[1].contains("touchstone.yaml:2:9: limits must be a mapping"))
    #expect(failure.lines[2].hasPrefix("--issuer: ") && failure.lines[3].hasPrefix("TOUCHSTONE_SHARDS: "))
  }

  @Test("A file or directory that a variable or a flag names is refused with the variable's name or the flag's")
  func files() throws {
    let configuration = try Self.read(nil, [:], ["--data-dir", "/nowhere"]).configuration
    #expect(
      configuration.failure(of: "data_dir", at: "/nowhere", "is missing").lines == [
        "--data-dir: data_dir /nowhere: is missing"
      ])
    #expect(configuration.failure(of: "data_dir", at: "/nowhere", "is missing").kind == .badConfiguration)
  }

  // MARK: Kubernetes

  @Test(
    "What Kubernetes sets for a service is ignored",
    arguments: [
      ("TOUCHSTONE_SERVICE_HOST", "10.0.0.1"), ("TOUCHSTONE_SERVICE_PORT", "7443"),
      ("TOUCHSTONE_SERVICE_PORT_GRPC", "7443"), ("TOUCHSTONE_PORT", "tcp://10.0.0.1:7443"),
      ("TOUCHSTONE_PORT_7443_TCP", "tcp://10.0.0.1:7443"), ("TOUCHSTONE_PORT_7443_TCP_PROTO", "tcp"),
      ("TOUCHSTONE_PORT_7443_TCP_PORT", "7443"), ("TOUCHSTONE_PORT_7443_TCP_ADDR", "10.0.0.1"),
      ("TOUCHSTONE_HTTP_SERVICE_HOST", "10.0.0.1"), ("TOUCHSTONE_HTTP_SERVICE_PORT_PUBLIC_API", "1"),
      ("TOUCHSTONE_HTTP_PORT", "udp://10.0.0.1:53"), ("TOUCHSTONE_HTTP_PORT_53_UDP_ADDR", "10.0.0.1"),
      ("TOUCHSTONE_PODS_PORT_9_SCTP", "sctp://10.0.0.1:9"),
    ])
  func kubernetes(name: String, text: String) throws {
    #expect(KubernetesVariables.contain(name, text))
    #expect(Self.refusal(nil, [name: text]) == nil)
  }

  @Test(
    "A variable that only resembles one is refused",
    arguments: [
      ("TOUCHSTONE_PORT", "7443"), ("TOUCHSTONE_HTTP_PORT", "8080"), ("TOUCHSTONE_HOST", "10.0.0.1"),
      ("TOUCHSTONE_SERVICE", "x"), ("TOUCHSTONE_SERVICE_NAME", "x"), ("TOUCHSTONE_PORT_7443", "tcp://10.0.0.1:7443"),
      ("TOUCHSTONE_PORT_7443_TCP_NAME", "x"), ("TOUCHSTONE_PORT_99999_TCP", "tcp://10.0.0.1:99999"),
      ("TOUCHSTONE_LIMIT_PORT_X", "1"),
    ])
  func resembling(name: String, text: String) {
    #expect(!KubernetesVariables.contain(name, text))
    #expect(Self.refusal(nil, [name: text])?.kind == .badConfiguration)
  }

  // MARK: Printing

  @Test("Each value is printed with its source, and secrets are masked")
  func printing() throws {
    let effective = try Self.read(
      "limits:\n  connections: 5\nissuer: \"yes\"\n",
      ["TOUCHSTONE_STORE": "postgresql://ann:hidden@db.example/x", "TOUCHSTONE_VENDORS": "{a: [b]}"], ["--shards", "2"])
    let path = try #require(effective.path)
    let lines = effective.yaml
    for line in [
      "  connections: 5 # \(path):2", "  connection_idle: 15m # default", "issuer: \"yes\" # \(path):3",
      "store: \"postgresql://********@db.example/x\" # TOUCHSTONE_STORE", "vendors: # TOUCHSTONE_VENDORS", "  a: [b]",
      "shards: 2 # --shards", "reflection: true # default",
      "# token_lifetime_seconds: 300 for logins, 120 for payments # default",
    ] {
      #expect(lines.contains(line), "\(line)")
    }
    #expect(effective.json.contains("\"limits.connections\": {\n    \"value\": 5,\n    \"source\": \"\(path):2\"\n  }"))
    #expect(!lines.joined().contains("hidden") && !effective.json.contains("hidden"))
  }

  @Test(
    "What is printed is a configuration with the same settings",
    arguments: ["", "http: 127.0.0.1:1", "attestation: {revoked: {android: /a}}"])
  func repetition(text: String) throws {
    let first = try Self.read(text)
    let second = try Self.read(first.yaml.joined(separator: "\n"))
    #expect(first.configuration.settingsOtherThan(in: second.configuration).isEmpty)
    #expect(first.configuration.attestation == second.configuration.attestation)
    let sources = { (lines: [String]) in lines.map { $0.split(separator: " # ").first.map(String.init) ?? "" } }
    #expect(sources(second.yaml).filter { !$0.hasPrefix("#") } == sources(first.yaml).filter { !$0.hasPrefix("#") })
  }
}
