// Each thing that is wrong with the callers, the operators, TLS, addresses or limits of a configuration file.

extension BadFile {
  private static let digest = "sha256:" + String(repeating: "0a", count: 32)
  private static let otherDigest = "sha256:" + String(repeating: "0b", count: 32)
  private static let key = "tsk_" + String(repeating: "A", count: 43)
  private static let hash = "$argon2id$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$" + String(repeating: "A", count: 43)
  private static let weakHash = hash.replacing("m=65536,t=3", with: "m=8,t=1")

  /// In all of these texts ↵ ends a line.
  private static let shop = "callers:↵  - name: shop↵    keys: [\(digest)]↵"
  private static let grants = "    applications: [shop]↵    methods: [TokenService/*]↵"
  private static let tls = "tls: {certificate: a, key: b, client_authorities: c}↵"

  /// One file for each row: what is wrong, the part of the file in which it is, and what must be said about it.
  ///
  /// - Parameter frame: the file around a part.
  private static func files(_ frame: (String) -> String, _ table: String) -> [BadFile] {
    table.split(separator: "\n").map { row in
      let cells = row.split(separator: " | ").map(String.init)
      return BadFile(cells[0], frame(cells[1]).replacing("↵", with: "\n"), cells[2])
    }
  }

  static let accessErrors = ofCallers + ofOperators + ofOtherSections

  private static let ofCallers =
    files(
      { "callers:↵  - name: \($0)↵    keys: [\(digest)]↵\(grants)" },
      """
      a name of other letters | ‸the shop | name must be 1 to 64
      the unknown | ‸unknown | the audit log
      the unknown in capitals | ‸Unknown | the audit log
      the operator | ‸operator | the audit log
      the operator in capitals | ‸OPERATOR | the audit log
      local in capitals | ‸Local | name must be local
      plaintext in capitals | ‸PlainText | name must be plaintext
      """)
    + files(
      { "callers:↵  - name: shop↵    \($0)↵\(grants)" },
      """
      a key twice | keys: [\(digest), ‸\(digest)] | this key appears twice
      no keys | keys: ‸[] | keys must be a list of 1 to 8
      the key itself | keys: [‸\(key)] | a key must be sha256:
      a certificate that nobody asks for | ‸spiffe: spiffe://example.org/shop | \
      a certificate needs tls.client_authorities
      """)
    + files(
      { "\(tls)callers:↵  - name: shop↵    \($0)↵\(grants)" },
      """
      two certificates | dns: shop.example.org↵    ‸common_name: shop | known by one of spiffe, dns, common_name
      a certificate of two | dns: shop.example.org↵\(grants)  - name: bank↵    dns: ‸shop.example.org | \
      is "shop"'s: a certificate names one caller
      a wildcard | dns: ‸"*.example.org" | without wildcards
      no SPIFFE ID | spiffe: ‸https://example.org/shop | must be spiffe://
      """)
    + files(
      { "\(shop)\(grants)  - name: \($0)↵\(grants)" },
      """
      two of a name | ‸shop↵    keys: [\(otherDigest)] | there are two callers "shop"
      a key of two | bank↵    keys: [‸\(digest)] | this key appears twice
      """)
    + files(
      { "\(shop)    \($0)↵" },
      """
      empty methods | applications: [shop]↵    methods: ‸[] | methods must be a list of 1 to
      a method that is not | applications: [shop]↵    methods: [‸TokenService/IntrospectTokens] | \
      did you mean "TokenService/IntrospectToken"?
      a service that is not | applications: [shop]↵    methods: [‸Tokens/*] | no method "Tokens/*"
      a method twice | applications: [shop]↵    methods: [TokenService/*, ‸TokenService/*] | appears twice
      empty applications | applications: ‸[]↵    methods: [TokenService/*] | applications must be a list
      one application | applications: ‸shop↵    methods: [TokenService/*] | applications must be a list
      all among others | applications: [shop, ‸"*"]↵    methods: [TokenService/*] | must be the only one
      an application twice | applications: [shop, ‸shop]↵    methods: [TokenService/*] | appears twice
      applications for nothing | applications: ‸[shop]↵    methods: [TokenService/GetSigningKeys] | \
      applications have no effect
      an unknown setting | ‸aplications: [shop]↵\(grants) | did you mean "applications"?
      """)

  private static let ofOperators =
    files(
      { "operators: {\($0)}" },
      """
      no password | ‸anna: {role: read, applications: '*'} | operators.anna needs password
      no role | ‸anna: {password: '\(hash)', applications: '*'} | operators.anna needs role
      an operator of no applications | ‸anna: {password: '\(hash)', role: read} | operators.anna needs applications
      an operator's name | ‸'a b': {password: '\(hash)', role: read, applications: '*'} | \
      an operator's name must be 1 to 64
      an operator called operator | ‸operator: {password: '\(hash)', role: read, applications: '*'} | \
      an operator's name cannot be "operator"
      """)
    + files(
      { "operators: {anna: {\($0)}}" },
      """
      the password itself | password: ‸hunter2hunter2, role: read, applications: '*' | \
      operators.anna.password must be a hash
      a weak hash | password: ‸'\(weakHash)', role: read, applications: '*' | operators.anna.password is too weak a hash
      another role | password: '\(hash)', role: ‸boss, applications: '*' | operators.anna.role must be one of read
      an operator of empty applications | password: '\(hash)', role: read, applications: ‸[] | \
      operators.anna.applications must be a list
      an operator's application twice | password: '\(hash)', role: read, applications: [a, ‸a] | "a" appears twice
      a slip in an operator | password: '\(hash)', ‸rolle: read, role: read, applications: '*' | \
      "rolle" is not a setting of operators.anna
      """)

  private static let ofOtherSections =
    files(
      { $0 },
      """
      vendors that are no mapping | vendors: ‸[shop, bank] | vendors must be a mapping
      a vendor that is no list | vendors: {acme: ‸shop} | vendors.acme must be a list
      a vendor of no application | vendors: {acme: ‸[]} | vendors.acme must be a list of 1 to
      a vendor's empty id | vendors: {acme: [shop, ‸""]} | an application in vendors.acme is empty
      a vendor's reserved id | vendors: {acme: [shop, ‸x/payment]} | an application in vendors.acme must not end in /payment
      an application of two vendors | vendors:↵  acme: [shop, bank]↵  trust: [vault, ‸bank] | \
      "bank" is in vendors.acme already: an application has one vendor
      vendors misspelt | ‸vendor: {acme: [shop]} | did you mean "vendors"
      no list | callers: ‸shop | callers must be a list
      nobody | callers: ‸[] | callers must name a caller
      no name | callers:↵  - ‸keys: [\(digest)]↵\(grants) | a caller needs a name
      no identity | callers:↵  - ‸name: shop↵\(grants) | needs one of spiffe, dns, common_name, or keys
      no methods | callers:↵  - ‸name: shop↵    keys: [\(digest)]↵    applications: [shop]↵ | needs methods
      no applications | callers:↵  - ‸name: shop↵    keys: [\(digest)]↵    methods: [TokenService/*]↵ | \
      needs applications
      local with a key | callers:↵  - name: local↵    ‸keys: [\(digest)]↵\(grants) | \
      local is the caller in plaintext from this machine
      plaintext with a certificate | callers:↵  - name: plaintext↵    ‸dns: shop.example.org↵\(grants) | \
      plaintext is the caller in plaintext from beyond this machine
      a key where certificates are required | \
      tls: {certificate: a, key: b, client_authorities: c, client_certificates: required}↵\
      callers:↵  - name: shop↵    ‸keys: [\(digest)]↵\(grants) | \
      a caller without a certificate cannot call
      TLS for nobody | ‸tls: {certificate: a, key: b} | tls needs callers
      TLS without a key | tls:↵  ‸certificate: a↵\(shop)\(grants) | tls needs key, a PEM file
      certificates that nobody vouches for | \
      tls: {certificate: a, key: b, ‸client_certificates: optional}↵\(shop)\(grants) | needs tls.client_authorities
      a word for certificates | \
      tls: {certificate: a, key: b, client_authorities: c, client_certificates: ‸always}↵\(shop)\(grants) | \
      must be one of required, optional
      no addresses | listen: ‸[] | listen must be 1 to 16
      an address that is none | listen: [127.0.0.1:0, ‸nowhere] | listen must be HOST:PORT or unix:PATH
      a socket without a path | listen: ‸"unix:" | listen must be HOST:PORT or unix:PATH
      reflection by another word | reflection: ‸off | reflection must be one of true, false
      no connections | limits: {connections: ‸0} | limits.connections must be 1 to
      an age of no time | limits: {connection_age: ‸0s} | limits.connection_age must be 1s to 720h
      a grace for nothing | limits: {‸connection_age_grace: 1m} | no effect without limits.connection_age
      operators in a list | operators: ‸[anna] | operators must be a mapping
      """)
}
