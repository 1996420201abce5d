import COpenSSL
import Testing
import TestSupport

@testable import DispatchRPC

// Names out of a certificate's bytes: whole or not at all.

@Suite struct PeerCertificateTests {
  private let authority = CertificateAuthority()

  @Test func namesOfEveryKindAreRead() throws {
    let names = try #require(
      read(
        CertificateRequest(
          commonName: "Zahlungen für Ägypten",
          [
            .uri("spiffe://example.com/payments"), .dns("Payments.Example.COM"), .address([10, 0, 0, 1]),
            .uri("https://example.com/?a=b"), .dns("*.example.com"),
          ])))
    #expect(names.uris == ["spiffe://example.com/payments", "https://example.com/?a=b"])
    #expect(names.dnsNames == ["payments.example.com", "*.example.com"])
    #expect(names.commonName == "Zahlungen für Ägypten")
  }

  @Test func thereMayBeNone() {
    #expect(read(CertificateRequest()) == RPCPeerCertificate())
  }

  /// Names that name nobody to us, too.
  @Test(
    arguments: [
      ([], false), ([.address([10, 0, 0, 1])], true), ([.uri("not plain")], true), ([.dns("a")], true),
    ] as [([CertificateRequest.AlternativeName], Bool)])
  func whetherThereAreAlternativeNamesIsTold(_ names: [CertificateRequest.AlternativeName], areThere: Bool) {
    let request = CertificateRequest(commonName: "a", names)
    #expect(read(request)?.hasAlternativeNames == areThere)
    #expect(read(request)?.commonName == "a")
  }

  static let untellable: [[UInt8]] = [
    [], Array("admin\0".utf8), Array("\0admin".utf8), Array("admin\0.example.com".utf8), Array("admin\n".utf8),
    Array("ad min".utf8), Array("ädmin".utf8), [0xFF], [0xC0, 0x80], Array("admin\u{7F}".utf8),
    [UInt8](repeating: UInt8(ascii: "a"), count: 2_049),
  ]

  @Test(arguments: untellable) func alternativeNamesThatAreNotPlainAreLeftOutWhole(name: [UInt8]) {
    let names = read(CertificateRequest([.uri(name), .dns(name), .uri("spiffe://a"), .dns("b")]))
    #expect(names == RPCPeerCertificate(uris: ["spiffe://a"], dnsNames: ["b"]))
  }

  @Test func aNameMayHave2048Bytes() {
    let name = [UInt8](repeating: UInt8(ascii: "a"), count: 2_048)
    #expect(read(CertificateRequest([.dns(name)]))?.dnsNames == [String(decoding: name, as: UTF8.self)])
  }

  typealias CommonName = CertificateRequest.CommonName

  @Test(arguments: [
    CommonName(Array("admin\0".utf8)), CommonName(Array("\0".utf8)), CommonName(Array("a\u{1B}[31m".utf8)),
    CommonName(Array("a\u{85}".utf8)), CommonName([0xFF, 0xFE]), CommonName([0xC1, 0xA1]),
    CommonName([0xED, 0xA0, 0x80]),
    CommonName([0xF4, 0x90, 0x80, 0x80]), CommonName([0x61, 0xCC]),
    CommonName(Array("ä".utf8), type: V_ASN1_IA5STRING), CommonName(Array("a\0".utf8), type: V_ASN1_PRINTABLESTRING),
    CommonName(Array("admin".utf8), type: V_ASN1_T61STRING), CommonName([0, 0x61], type: V_ASN1_BMPSTRING),
    CommonName([0, 0, 0, 0x61], type: V_ASN1_UNIVERSALSTRING),
  ])
  func commonNamesThatAreNotPlainAreNone(name: CommonName) throws {
    // OpenSSL neither makes nor reads some of them.
    var request = CertificateRequest([.dns("b")])
    let placeholder = [UInt8](repeating: UInt8(ascii: "~"), count: name.bytes.count)
    request.commonNames = [CommonName(placeholder, type: V_ASN1_UTF8STRING)]
    var der = authority.issue(request).der
    // Found by the identifier before it, because a random serial number may hold the placeholder, too.
    let identifier: [UInt8] = [0x06, 3, 0x55, 4, 3]
    let value = identifier + [UInt8(V_ASN1_UTF8STRING), UInt8(placeholder.count)] + placeholder
    let start = try #require(der.indices.first { der[$0...].starts(with: value) })
    let changed = identifier + [UInt8(name.type), UInt8(placeholder.count)] + name.bytes
    der.replaceSubrange(start..<(start + value.count), with: changed)
    let names = der.withUnsafeBytes { RPCPeerCertificate(der: $0) }
    #expect(names == nil || names == RPCPeerCertificate(dnsNames: ["b"]))
  }

  @Test(arguments: [V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING])
  func commonNamesInPlainTextAreTold(type: Int32) {
    var request = CertificateRequest()
    request.commonNames = [CommonName(Array("payments service".utf8), type: type)]
    #expect(read(request)?.commonName == "payments service")
  }

  /// Which of them is meant is anybody's guess.
  @Test func severalCommonNamesAreNone() {
    var request = CertificateRequest()
    request.commonNames = [CommonName(Array("a".utf8)), CommonName(Array("b".utf8))]
    #expect(read(request) == RPCPeerCertificate())
  }

  @Test func sixtyFourNamesAreReadAndNoMore() {
    let names = (0..<64).map { CertificateRequest.AlternativeName.dns("\($0).test") }
    #expect(read(CertificateRequest(names))?.dnsNames.count == 64)
    #expect(read(CertificateRequest(names + [.dns("64.test")])) == nil)
  }

  @Test func twoListsOfNamesAreMalformed() {
    var request = CertificateRequest([.dns("a")])
    request.alternativeNames.append(CertificateRequest.der([.dns("b")]))
    #expect(read(request) == nil)
  }

  @Test(
    arguments: [[], [0x30], [0x30, 0x05, 0x82], [0x30, 0x03, 0x82, 0x02, 0x61], [0x04, 0x01, 0x61]]
      as [[UInt8]])
  func aMalformedListIsNoList(der: [UInt8]) {
    var request = CertificateRequest(commonName: "a")
    request.alternativeNames = [der]
    #expect(read(request) == nil)
  }

  @Test func aCertificateIsReadWholeOrNotAtAll() {
    let der = authority.issue(TLSFiles.client).der
    for count in 0..<der.count {
      #expect(der[..<count].withUnsafeBytes { RPCPeerCertificate(der: $0) } == nil)
    }
    #expect((der + [0]).withUnsafeBytes { RPCPeerCertificate(der: $0) } == nil)
    #expect(der.withUnsafeBytes { RPCPeerCertificate(der: $0) } == TLSFiles.clientNames)
  }

  /// Each byte changed in turn: it is still read, or refused, and never names what no byte says.
  @Test func changedBytesDoNoHarm() {
    let der = authority.issue(TLSFiles.client).der
    for index in der.indices {
      var changed = der
      changed[index] ^= 0x5A
      guard let names = changed.withUnsafeBytes({ RPCPeerCertificate(der: $0) }) else { continue }
      for name in names.uris + [names.commonName].compactMap(\.self) {
        let bytes = Array(name.utf8)
        #expect(changed.indices.contains { changed[$0...].starts(with: bytes) })
      }
    }
  }

  private func read(_ request: CertificateRequest) -> RPCPeerCertificate? {
    authority.issue(request).der.withUnsafeBytes { RPCPeerCertificate(der: $0) }
  }
}
