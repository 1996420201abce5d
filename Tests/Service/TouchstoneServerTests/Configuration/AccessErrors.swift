// Each thing that is wrong with the callers, the operators, TLS, addresses or limits of a configuration file.

extension BadFile {
  private static let digest = "sha256:" + String(repeating: "0a", count: 32)
  private static let otherDigest = "sha256:" + String(repeating: "0b", count: 32)
  private static let key = "tsk_" + String(repeating: "A", count: 43)
  private static let hash = "$argon2id$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$" + String(repeating: "A", count: 43)
  private static let weakHash = hash.replacing("m=65536,t=3", with: "m=8,t=1")

  private static let shop = "callers:\n  - name: shop\n    keys: [\(digest)]\n"
  private static let grants = "    applications: [shop]\n    methods: [TokenService/*]\n"
  private static let tls = "tls: {certificate: a, key: b, client_authorities: c}\n"

  static let accessErrors: [BadFile] = [
    BadFile("vendors that are no mapping", "vendors: ‸[shop, bank]", "vendors must be a mapping"),
    BadFile("a vendor that is no list", "vendors: {acme: ‸shop}", "vendors.acme must be a list"),
    BadFile("a vendor of no application", "vendors: {acme: ‸[]}", "vendors.acme must be 1 to"),
    BadFile(
      "a vendor's empty id", "vendors: {acme: [shop, ‸\"\"]}", "an application in vendors.acme is empty"),
    BadFile(
      "a vendor's reserved id",
      "vendors: {acme: [shop, ‸x/payment]}",
      "an application in vendors.acme must not end in /payment"),
    BadFile(
      "an application of two vendors",
      "vendors:\n  acme: [shop, bank]\n  trust: [vault, ‸bank]",
      "\"bank\" is in vendors.acme already: an application has one vendor"),
    BadFile("vendors misspelt", "‸vendor: {acme: [shop]}", "did you mean \"vendors\""),
    BadFile("no list", "callers: ‸shop", "callers must be a list"),
    BadFile("nobody", "callers: ‸[]", "callers must name a caller"),
    BadFile("no name", "callers:\n  - ‸keys: [\(digest)]\n\(grants)", "a caller needs a name"),
    BadFile(
      "a name of other letters",
      "callers:\n  - name: ‸the shop\n    keys: [\(digest)]\n\(grants)",
      "name must be 1 to 64"),
    BadFile("the unknown", "callers:\n  - name: ‸unknown\n    keys: [\(digest)]\n\(grants)", "the audit log"),
    BadFile(
      "the unknown in capitals", "callers:\n  - name: ‸Unknown\n    keys: [\(digest)]\n\(grants)", "the audit log"),
    BadFile("the operator", "callers:\n  - name: ‸operator\n    keys: [\(digest)]\n\(grants)", "the audit log"),
    BadFile(
      "the operator in capitals", "callers:\n  - name: ‸OPERATOR\n    keys: [\(digest)]\n\(grants)", "the audit log"),
    BadFile("local in capitals", "callers:\n  - name: ‸Local\n    keys: [\(digest)]\n\(grants)", "name must be local"),
    BadFile(
      "plaintext in capitals",
      "callers:\n  - name: ‸PlainText\n    keys: [\(digest)]\n\(grants)",
      "name must be plaintext"),
    BadFile(
      "two of a name",
      "\(shop)\(grants)  - name: ‸shop\n    keys: [\(otherDigest)]\n\(grants)",
      "there are two callers \"shop\""),
    BadFile(
      "a key of two", "\(shop)\(grants)  - name: bank\n    keys: [‸\(digest)]\n\(grants)", "this key appears twice"),
    BadFile(
      "a key twice",
      "callers:\n  - name: shop\n    keys: [\(digest), ‸\(digest)]\n\(grants)",
      "this key appears twice"),
    BadFile("no identity", "callers:\n  - ‸name: shop\n\(grants)", "needs one of spiffe, dns, common_name, or keys"),
    BadFile("no keys", "callers:\n  - name: shop\n    keys: ‸[]\n\(grants)", "keys must be a list of 1 to 8"),
    BadFile("the key itself", "callers:\n  - name: shop\n    keys: [‸\(key)]\n\(grants)", "a key must be sha256:"),
    BadFile(
      "local with a key",
      "callers:\n  - name: local\n    ‸keys: [\(digest)]\n\(grants)",
      "local is the caller in plaintext from this machine"),
    BadFile(
      "plaintext with a certificate",
      "callers:\n  - name: plaintext\n    ‸dns: shop.example.org\n\(grants)",
      "plaintext is the caller in plaintext from beyond this machine"),
    BadFile(
      "no methods", "callers:\n  - ‸name: shop\n    keys: [\(digest)]\n    applications: [shop]\n", "needs methods"),
    BadFile("empty methods", "\(shop)    applications: [shop]\n    methods: ‸[]\n", "methods must be a list of 1 to"),
    BadFile(
      "a method that is not",
      "\(shop)    applications: [shop]\n    methods: [‸TokenService/IntrospectTokens]\n",
      "did you mean \"TokenService/IntrospectToken\"?"),
    BadFile(
      "a service that is not", "\(shop)    applications: [shop]\n    methods: [‸Tokens/*]\n", "no method \"Tokens/*\""),
    BadFile(
      "a method twice",
      "\(shop)    applications: [shop]\n    methods: [TokenService/*, ‸TokenService/*]\n",
      "appears twice"),
    BadFile(
      "no applications",
      "callers:\n  - ‸name: shop\n    keys: [\(digest)]\n    methods: [TokenService/*]\n",
      "needs applications"),
    BadFile(
      "empty applications",
      "\(shop)    applications: ‸[]\n    methods: [TokenService/*]\n",
      "applications must be a list"),
    BadFile(
      "one application",
      "\(shop)    applications: ‸shop\n    methods: [TokenService/*]\n",
      "applications must be a list"),
    BadFile(
      "all among others",
      "\(shop)    applications: [shop, ‸\"*\"]\n    methods: [TokenService/*]\n",
      "must be the only one"),
    BadFile(
      "an application twice",
      "\(shop)    applications: [shop, ‸shop]\n    methods: [TokenService/*]\n",
      "appears twice"),
    BadFile(
      "applications for nothing",
      "\(shop)    applications: ‸[shop]\n    methods: [TokenService/GetSigningKeys]\n",
      "applications have no effect"),
    BadFile("an unknown setting", "\(shop)    ‸aplications: [shop]\n\(grants)", "did you mean \"applications\"?"),
    BadFile(
      "a certificate that nobody asks for",
      "callers:\n  - name: shop\n    ‸spiffe: spiffe://example.org/shop\n\(grants)",
      "a certificate needs tls.client_authorities"),
    BadFile(
      "two certificates",
      "\(tls)callers:\n  - name: shop\n    dns: shop.example.org\n    ‸common_name: shop\n\(grants)",
      "known by one of spiffe, dns, common_name"),
    BadFile(
      "a certificate of two",
      "\(tls)callers:\n  - name: shop\n    dns: shop.example.org\n\(grants)  - name: bank\n    dns: ‸shop.example.org\n\(grants)",
      "is \"shop\"'s: a certificate names one caller"),
    BadFile(
      "a wildcard", "\(tls)callers:\n  - name: shop\n    dns: ‸\"*.example.org\"\n\(grants)", "without wildcards"),
    BadFile(
      "no SPIFFE ID",
      "\(tls)callers:\n  - name: shop\n    spiffe: ‸https://example.org/shop\n\(grants)",
      "must be spiffe://"),
    BadFile(
      "a key where certificates are required",
      "tls: {certificate: a, key: b, client_authorities: c, client_certificates: required}\ncallers:\n  - name: shop\n    ‸keys: [\(digest)]\n\(grants)",
      "a caller without a certificate cannot call"),
    BadFile("TLS for nobody", "‸tls: {certificate: a, key: b}", "tls needs callers"),
    BadFile("TLS without a key", "tls:\n  ‸certificate: a\n\(shop)\(grants)", "tls needs key, a PEM file"),
    BadFile(
      "certificates that nobody vouches for",
      "tls: {certificate: a, key: b, ‸client_certificates: optional}\n\(shop)\(grants)",
      "needs tls.client_authorities"),
    BadFile(
      "a word for certificates",
      "tls: {certificate: a, key: b, client_authorities: c, client_certificates: ‸always}\n\(shop)\(grants)",
      "must be one of required, optional"),
    BadFile("no addresses", "listen: ‸[]", "listen must be 1 to 16"),
    BadFile("an address that is none", "listen: [127.0.0.1:0, ‸nowhere]", "listen must be HOST:PORT or unix:PATH"),
    BadFile("a socket without a path", "listen: ‸\"unix:\"", "listen must be HOST:PORT or unix:PATH"),
    BadFile("reflection by another word", "reflection: ‸off", "reflection must be one of true, false"),
    BadFile("no connections", "limits: {connections: ‸0}", "limits.connections must be 1 to"),
    BadFile("an age of no time", "limits: {connection_age: ‸0s}", "limits.connection_age must be 1s to 720h"),
    BadFile("a grace for nothing", "limits: {‸connection_age_grace: 1m}", "no effect without limits.connection_age"),
    BadFile("no password", "operators: {‸anna: {role: read, applications: '*'}}", "operators.anna needs password"),
    BadFile("no role", "operators: {‸anna: {password: '\(hash)', applications: '*'}}", "operators.anna needs role"),
    BadFile(
      "an operator of no applications",
      "operators: {‸anna: {password: '\(hash)', role: read}}",
      "operators.anna needs applications"),
    BadFile(
      "the password itself",
      "operators: {anna: {password: ‸hunter2hunter2, role: read, applications: '*'}}",
      "operators.anna.password must be a hash"),
    BadFile(
      "a weak hash",
      "operators: {anna: {password: ‸'\(weakHash)', role: read, applications: '*'}}",
      "operators.anna.password is too weak a hash"),
    BadFile(
      "another role",
      "operators: {anna: {password: '\(hash)', role: ‸boss, applications: '*'}}",
      "operators.anna.role must be one of read"),
    BadFile(
      "an operator of empty applications",
      "operators: {anna: {password: '\(hash)', role: read, applications: ‸[]}}",
      "operators.anna.applications must be a list"),
    BadFile(
      "an operator's application twice",
      "operators: {anna: {password: '\(hash)', role: read, applications: [a, ‸a]}}",
      "\"a\" appears twice"),
    BadFile(
      "an operator's name",
      "operators: {‸'a b': {password: '\(hash)', role: read, applications: '*'}}",
      "an operator's name must be 1 to 64"),
    BadFile(
      "an operator called operator",
      "operators: {‸operator: {password: '\(hash)', role: read, applications: '*'}}",
      "an operator's name cannot be \"operator\""),
    BadFile(
      "a slip in an operator",
      "operators: {anna: {password: '\(hash)', ‸rolle: read, role: read, applications: '*'}}",
      "\"rolle\" is not a setting of operators.anna"),
    BadFile("operators in a list", "operators: ‸[anna]", "operators must be a mapping"),
  ]
}
