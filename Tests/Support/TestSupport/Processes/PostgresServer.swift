// A PostgreSQL of the tests' own: in a temporary directory, on a Unix socket there, gone with the process.

internal import CPostgres
internal import Glibc

/// Started once in a test process, at the first use; a database for each test.
///
/// The server's end does not depend on ours: `watchdog` reads its input, of which we hold the other end, and stops it
/// all when no process holds that any more, however this process ended.
public final class PostgresServer: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String

    init(description: String) {
      self.description = description
    }

    fileprivate init(_ connection: OpaquePointer?) {
      description = String(cString: PQerrorMessage(connection))
    }
  }

  /// The server of this process. It fails once where there is no PostgreSQL to start.
  public static let shared = Result { () throws(Failure) in try PostgresServer() }

  /// Holds the data and the socket.
  public let directory: String
  let port: Int
  /// Settings of `postgres`, as `name=value`.
  private let settings: [String]
  private let watchdog: ChildProcess

  /// - Parameters:
  ///   - settings: as `name=value`, beside those that tests need.
  ///   - port: names the socket; servers in one directory would need different ones.
  public init(settings: [String] = [], port: Int = 5_432) throws(Failure) {
    self.port = port
    self.settings = settings
    directory = try Self.makeDirectory()
    watchdog = try Self.child(["setsid", "sh", "-c", Self.watch, "watchdog", directory])
    try Self.run("cp", "--archive", "--", try Self.template.get().data, data)
    try start()
  }

  private var data: String { Self.data(in: directory) }

  private static func data(in directory: String) -> String { "\(directory)/data" }

  /// What every server of this process begins with: `initdb` takes longer than all of a server's other steps.
  private static let template = Result { () throws(Failure) in try Template() }

  private struct Template: Sendable {
    let data: String
    private let watchdog: ChildProcess

    init() throws(Failure) {
      let directory = try makeDirectory()
      data = PostgresServer.data(in: directory)
      watchdog = try child(["setsid", "sh", "-c", watch, "watchdog", directory])
      try run(
        "initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=touchstone", "-D", data)
    }
  }

  private func uri(database: String) -> String {
    "postgresql://touchstone@/\(database)?host=\(directory)&port=\(port)"
  }

  // MARK: Its life

  /// Returns when it accepts connections.
  public func start() throws(Failure) {
    let settings = [
      "listen_addresses=", "unix_socket_directories=\(directory)", "port=\(port)", "max_connections=300",
      // Nothing that a test looks at depends on an fsync: none pulls the plug.
      "fsync=off", "shared_buffers=64MB", "logging_collector=off", "log_min_messages=error",
      "log_line_prefix=%a/%e/",
      // A table that is analyzed while a test fills it is taken for an empty one, and read by another plan.
      "autovacuum=off",
    ]
    let options = (settings + self.settings).map { "-c \($0)" }.joined(separator: " ")
    try Self.run("pg_ctl", "start", "--wait", "--silent", "-D", data, "-l", "\(directory)/log", "-o", options)
  }

  public enum StopMode: String, Sendable {
    /// Sessions are ended, and all is written.
    case fast
    /// As after a loss of power.
    case immediate
  }

  public func stop(_ mode: StopMode) throws(Failure) {
    try Self.run("pg_ctl", "stop", "--wait", "--silent", "-D", data, "-m", mode.rawValue)
  }

  // MARK: Databases

  private static let database = "postgres"

  /// A new and empty schema that is the only one in sight: as good as a database of its own, and made in a tenth of the
  /// time. Answers its URI.
  public func makeSchema() throws(Failure) -> String {
    let name = "test_\(UInt64.random(in: 0 ... .max))"
    let uri = "\(uri(database: Self.database))&application_name=\(name)&options=-csearch_path%3D\(name)"
    try execute("CREATE SCHEMA \(name)", at: uri)
    return uri
  }

  public func dropSchema(of uri: String) throws(Failure) {
    guard let name = uri.split(separator: "D").last else { return }
    try execute("SET client_min_messages = error; DROP SCHEMA \(name) CASCADE", at: uri)
  }

  /// On a connection of its own, because `psql` would be three programs in a row; several statements are one
  /// transaction. Answers the lines of the last one's rows, with `|` between columns.
  @discardableResult
  public func execute(_ sql: String, at uri: String) throws(Failure) -> [String] {
    let connection = PQconnectdb(uri)
    defer { PQfinish(connection) }
    // It would write notices to stderr.
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    guard PQstatus(connection) == CONNECTION_OK else { throw Failure(connection) }
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return []
    case PGRES_TUPLES_OK:
      return (0..<PQntuples(result)).flatMap { row in
        let columns = (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }
        return columns.joined(separator: "|").split(separator: "\n").map { String($0) }
      }
    default: throw Failure(connection)
    }
  }

  // MARK: Programs

  @discardableResult
  private static func run(_ program: String, _ arguments: String...) throws(Failure) -> String {
    let child = try child(asUser + [try path(of: program)] + arguments)
    child.closeInput()
    let text = String(decoding: child.readToEnd(), as: UTF8.self)
    let status = child.waitUntilExit()
    guard status == 0 else { throw Failure(description: "\(program) ended with \(status): \(text)") }
    return text
  }

  /// Without our environment, of which libpq would take more than is meant.
  private static func child(_ command: [String]) throws(Failure) -> ChildProcess {
    do {
      return try ChildProcess(["env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C"] + command)
    } catch {
      throw Failure(description: "\(command[0]) cannot be started: \(error.code)")
    }
  }

  /// PostgreSQL refuses to run as root.
  private static let user: String? = geteuid() == 0 ? "nobody" : nil
  private static var asUser: [String] {
    user.map { ["setpriv", "--reuid=\($0)", "--regid=nogroup", "--clear-groups", "--"] } ?? []
  }

  private static func path(of program: String) throws(Failure) -> String {
    program == "cp" ? program : "\(try programs())/\(program)"
  }

  /// Debian keeps each version's programs in a directory of its own, out of the way.
  private static func programs() throws(Failure) -> String {
    let versions = (13...30).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    let candidates = versions + path.split(separator: ":").map { String($0) }
    guard let found = candidates.first(where: { access("\($0)/initdb", X_OK) == 0 }) else {
      throw Failure(description: "no PostgreSQL server: run deploy/install-packages test")
    }
    return found
  }

  private static func makeDirectory() throws(Failure) -> String {
    // A socket's path has at most 107 bytes: not in TMPDIR, which may be long.
    var template = Array("/tmp/touchstone-pg-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "no temporary directory: \(errno)") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if let user, let account = getpwnam(user) { chown(path, account.pointee.pw_uid, account.pointee.pw_gid) }
    return path
  }

  /// Waits until the pipe on its standard input is closed. In a session of its own: a terminal's interrupt
  /// ends us, and this tidies up after us.
  private static let watch = """
    trap '' INT HUP TERM
    exec >/dev/null 2>&1
    read -r line
    [ -s "$1/data/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
      rm -rf "$1" && break
      sleep 0.2
    done
    """
}
