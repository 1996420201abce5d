// `applications:`: what its settings mean, each thing that is wrong with it, and what it warns of.

import Encodings
import Testing
import TouchstoneService

@testable import TouchstoneAttestation
@testable import TouchstoneServer

@Suite("Applications' demands")
struct ApplicationSectionTests {
  private static let digest = String(repeating: "0a", count: 32)

  private static func read(_ text: String) throws -> ProcessConfiguration {
    try ProcessConfiguration.parse(Array(text.utf8), of: "policy.yaml")
  }

  private static func requirements(_ settings: String) throws -> AttestationRequirements {
    try #require(try read("applications: {shop: {\(settings)}}").service.applications["shop"])
  }

  @Test("Each setting is read")
  func everything() throws {
    let file = """
      applications:
        shop:
          attestation: required
          minimum_level: tee
          app_ids: [A1B2C3D4E5.org.example.shop, A1B2C3D4E5.org.example.shop2]
          environments: [production, development]
          packages: [{name: org.example.shop, signers: ["\(Self.digest)"]}]
          oldest_patch_level: 2025-11-01
          encoding: tolerant
          text_signatures: true
          passkeys:
            rp_id: example.org
            origins: ["https://example.org"]
            top_origins: ["https://market.example"]
            sign_count: report
            user_verification: preferred
            device_bound: true
            aaguids: [ee882879-721c-4913-9775-3dfcce97072a]
        bank: {}
      """
    var expected = AttestationRequirements(
      demand: .required, minimumLevel: .tee, appIDs: ["A1B2C3D4E5.org.example.shop", "A1B2C3D4E5.org.example.shop2"],
      environments: [.production, .development],
      packages: [AndroidPackage(name: "org.example.shop", signers: [[UInt8](repeating: 10, count: 32)])],
      oldestPatchLevel: PatchLevel("2025-11-01"),
      passkeys: PasskeyRequirements(
        rpID: "example.org", origins: ["https://example.org"], requiresUserVerification: false,
        requiresDeviceBoundKeys: true,
        aaguids: [[0xEE, 0x88, 0x28, 0x79, 0x72, 0x1C, 0x49, 0x13, 0x97, 0x75, 0x3D, 0xFC, 0xCE, 0x97, 0x07, 0x2A]]),
      encoding: .tolerant)
    expected.passkeys?.topOrigins = ["https://market.example"]
    expected.passkeys?.signCount = .reported
    expected.allowsTextSignatures = true
    #expect(try Self.read(file).service.applications == ["shop": expected, "bank": AttestationRequirements()])
  }

  @Test("A signer is read as each tool prints it")
  func signers() throws {
    let digest = (0..<32).map { UInt8($0 * 8) }
    let pairs = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    let spellings = [pairs.joined(), pairs.joined(separator: ":").uppercased(), Base64.encode(digest)]
    for spelling in spellings {
      let requirements = try Self.requirements("packages: [{name: a, signers: [\"\(spelling)\"]}]")
      #expect(requirements.packages == [AndroidPackage(name: "a", signers: [digest])])
    }
  }

  @Test(
    "These origins are as browsers and Android send them",
    arguments: [
      "https://example.org", "https://login.example.org:8443", "http://localhost", "http://localhost:8000",
      "android:apk-key-hash:pNiP5iKyQ8JwgGOaKA1zGPUPJIS-0H1xKCQcfIoGLck",
    ])
  func origins(origin: String) throws {
    let requirements = try Self.requirements("passkeys: {rp_id: example.org, origins: [\"\(origin)\"]}")
    #expect(requirements.passkeys?.origins == [origin])
  }

  private static func application(_ name: String, _ settings: String, _ complaints: String...) -> BadFile {
    BadFile(name, "applications:\n  shop:\n" + settings, complaints)
  }

  private static let wrong: [BadFile] = [
    BadFile("a slip of it", "‸aplications: {}", "did you mean \"applications\"?"),
    BadFile("a list", "applications: ‸[]", "applications must be a mapping"),
    BadFile("an application's name", "applications: {‸\"\": {}}", "an application is empty"),
    BadFile("an application that is none", "applications: {shop: ‸required}", "applications.shop must be a mapping"),
    application(
      "a slip", "    ‸app_id: []", "\"app_id\" is not a setting of applications.shop (did you mean \"app_ids\"?)"),
    application("a demand", "    attestation: ‸require", "attestation must be one of none, accepted, required"),
    application(
      "a level", "    minimum_level: ‸hardware", "minimum_level must be one of none, self, app, tee, strongbox"),
    application("no app", "    app_ids: ‸[]", "app_ids must be a list of 1 to 64"),
    application(
      "apps", "    app_ids: [‸org.example.shop, ‸A1B2C3D4E5., ‸a1b2c3d4e5.shop, A1B2C3D4E5.a, ‸A1B2C3D4E5.a]",
      "an app id must be TEAMID.bundle", "an app id must be", "an app id must be", "an app id appears twice"),
    application(
      "an environment", "    environments: [‸sandbox]", "an environment must be one of development, production"),
    application(
      "an environment twice", "    environments: [production, ‸production]", "an environment appears twice"),
    application(
      "packages", "    packages:\n      - ‸‸{}\n      - {name: ‸a b, signers: [‸abc]}\n      - ‸{name: a, ‸signer: []}",
      "a package needs name", "a package needs signers", "name must be letters", "a signer must be the SHA-256",
      "a package needs signers", "did you mean \"signers\"?"),
    application(
      "a package twice",
      "    packages:\n      - {name: a, signers: [\(digest)]}\n      - ‸{name: a, signers: [\(digest), ‸\(digest)]}",
      "there are two packages \"a\"", "a signer appears twice"),
    application("a date", "    oldest_patch_level: ‸2025-11", "oldest_patch_level must be a date such as 2025-11-01"),
    application("an encoding", "    encoding: ‸lenient", "encoding must be one of strict, tolerant"),
    application("passkeys of nobody", "    ‸‸passkeys: {}", "passkeys needs rp_id", "passkeys needs origins"),
    application(
      "passkeys",
      """
          passkeys:
            rp_id: ‸https://example.org
            origins: [‸"http://example.org", ‸"https://example.org/", ‸"https://Example.org", ‸"https://example.org:0", \
      ‸"android:apk-key-hash:AA"]
            top_origins: [‸"android:apk-key-hash:pNiP5iKyQ8JwgGOaKA1zGPUPJIS-0H1xKCQcfIoGLck", ‸"*"]
            sign_count: ‸ignore
            user_verification: ‸discouraged
            device_bound: ‸yes
            aaguids: [‸yubikey]
      """,
      "passkeys.rp_id must be a domain", "an origin must be", "an origin must be", "an origin must be",
      "an origin must be", "an origin must be", "a top origin must be", "a top origin must be",
      "passkeys.sign_count must be one of must_grow, report",
      "passkeys.user_verification must be one of required, preferred",
      "passkeys.device_bound must be one of true, false", "an AAGUID must be a UUID"),
    application(
      "demands on what is not looked at",
      """
          attestation: none
          ‸minimum_level: tee
          ‸app_ids: [A1B2C3D4E5.org.example.shop]
          ‸passkeys: {rp_id: a.org, origins: ["https://a.org"], aaguids: [ee882879-721c-4913-9775-3dfcce97072a]}
      """, "minimum_level has no effect", "app_ids has no effect", "passkeys.aaguids has no effect"),
    application(
      "a level that is none", "    attestation: required\n    ‸minimum_level: none", "minimum_level cannot be none"),
  ]

  @Test("What is wrong is named with its place", arguments: wrong)
  func places(file: BadFile) {
    var lines: [String] = []
    do throws(ConfigurationErrors) {
      _ = try ProcessConfiguration.parse(file.bytes, of: "touchstone.yaml")
    } catch {
      lines = error.lines
    }
    file.expectNamed(in: lines)
  }

  @Test("`required` by itself says what else it accepts")
  func warnings() throws {
    let warnings = try Self.read("applications:\n  shop:\n    attestation: required").warnings
    #expect(
      warnings == [
        "policy.yaml:3:5: warning: attestation is required; also accepted are keys of any Android app (packages); "
          + "Android phones with old patches (oldest_patch_level)",
        "policy.yaml:3:5: warning: attestation is required, and App Attest is refused: app_ids names no app",
      ])
    let closed = """
      attestation: required, app_ids: [A1B2C3D4E5.a], packages: [{name: a, signers: ["\(Self.digest)"]}], \
      oldest_patch_level: 2025-11-01
      """
    #expect(try Self.read("applications: {shop: {\(closed)}}").warnings == [])
    let opened = try Self.read(
      "applications: {shop: {\(closed), minimum_level: self, environments: [development]}}"
    ).warnings
    #expect(opened.count == 1)
    #expect(opened[0].contains("keys of software") && opened[0].contains("apps in development"))
  }

  @Test("An application that no caller and no vendor names is warned of")
  func strangers() throws {
    func warnings(_ applications: String) throws -> [String] {
      let file = """
        callers: [{name: local, methods: [TokenService/*], applications: \(applications)}]
        vendors: {example: [wallet]}
        applications: {chekout: {}, wallet: {}, bank: {}}
        """
      return try ProcessConfiguration.parse(Array(file.utf8), of: "touchstone.yaml").warnings
    }
    #expect(
      try warnings("[checkout]") == [
        "touchstone.yaml:3:16: warning: no caller and no vendor names the application \"chekout\" (did you mean \"checkout\"?)",
        "touchstone.yaml:3:41: warning: no caller and no vendor names the application \"bank\"",
      ])
    // Who may name every application may mean this one.
    #expect(try warnings("\"*\"").isEmpty)
    #expect(try warnings("[chekout, bank]").isEmpty)
  }

  @Test("A level where a proof may be left out is warned of")
  func levelWithoutDemand() throws {
    let warnings = try Self.read("applications: {shop: {minimum_level: tee}}").warnings
    #expect(warnings.count == 1 && warnings[0].contains("only keys that come with a proof"))
  }
}
