// The metrics of a whole process, as Prometheus reads them.

import DispatchRPC
import TestSupport
import Testing
import TouchstoneClient
import TouchstoneCodec
import TouchstoneMetrics
import TouchstoneStore

@testable import TouchstoneServer

@Suite("Metrics of the process", .mustEnd)
struct MetricTests {
  private static func call(_ process: TestProcess, policy: String = "login") async {
    let client = TouchstoneClient(configuration: TouchstoneClientConfiguration(target: "\(process.address)"))
    _ = try? await client.canEvaluatePolicy(
      V1.CanEvaluatePolicyRequest(
        applicationID: "com.example.planted", policy: policy,
        posture: V1.DevicePosture(platform: "ios", osVersion: "17.0")))
    await client.close()
  }

  private static let method = "touchstone.v1.EvaluationService/CanEvaluatePolicy"

  @Test("gRPC's metrics have the method and the status; promtool accepts all of the text")
  func standard() async throws {
    try await TestProcess.run { process, directory in
      for _ in 0..<3 { await Self.call(process) }
      await Self.call(process, policy: "planted-policy")
      let labels = "{grpc_method=\"\(Self.method)\""
      #expect(process.number("grpc_server_call_started_total\(labels)}") == 4)
      for (status, count) in [("OK", 3.0), ("INVALID_ARGUMENT", 1)] {
        let labels = "\(labels),grpc_status=\"\(status)\""
        #expect(process.number("grpc_server_call_duration_seconds_count\(labels)}") == count)
        #expect(process.number("grpc_server_call_rcvd_total_compressed_message_size_bytes_count\(labels)}") == count)
        #expect(process.number("grpc_server_call_sent_total_compressed_message_size_bytes_count\(labels)}") == count)
        #expect(process.number("grpc_server_call_duration_seconds_bucket\(labels),le=\"100\"}") == count)
      }
      // A method that was never called begins at 0, so that its rate is right from the first call on.
      #expect(process.number("grpc_server_call_started_total{grpc_method=\"other\"}") == 0)
      let text = process.metrics()
      #expect(!text.contains("planted"))
      try process.expectThatPromtoolAccepts(text, in: directory)
    }
  }

  /// The families of PostgreSQL, of TLS, of retention, of backups, of traces, of a process's log, of files that only
  /// some configurations name, and those that a reload sets.
  private static let absent: Set<MetricFamily> = [
    .storeConnections, .storeTransactions, .auditUnsealed, .clockOffset, .handshakes, .certificateExpiry,
    .archiveSuccess, .archiveSize, .backupSuccess, .backupSize, .backupOverdue, .trustDataWritten, .reloadSuccess,
    .logLinesDropped, .spansExported, .spansDropped, .tracesLimited,
  ]
  /// The first sweep comes after five seconds.
  private static let late: Set<MetricFamily> = [.auditSequence, .sweepSuccess]

  @Test("Every other family is there as soon as a call was made and the log was read")
  func families() async throws {
    try await TestProcess.run { process, _ in
      await Self.call(process)
      _ = try await process.untilNumber("touchstone_audit_log_verified_timestamp_seconds")
      _ = try await process.untilNumber("touchstone_store_size_bytes")
      let text = process.metrics()
      for family in MetricFamilies.all where !Self.late.contains(family) {
        let isThere = text.contains("# TYPE \(family.name) \(family.typeName)\n\(family.name)")
        #expect(isThere == !Self.absent.contains(family), "\(family.name)")
      }
      #expect(process.number("touchstone_metric_series_refused_total") == 0)
    }
  }

  @Test("The process's own figures are those of the kernel")
  func kernel() async throws {
    try await TestProcess.run { process, _ in
      #expect(process.number("touchstone_build_info{version=\"1.2.3-test\"}") == 1)
      let start = try #require(process.number("process_start_time_seconds"))
      let now = systemTime().inSeconds
      #expect(start < now && start > now - 24 * 60 * 60)
      let processor = try #require(process.number("process_cpu_seconds_total"))
      #expect(processor > 0)
      let resident = try #require(process.number("process_resident_memory_bytes"))
      #expect(resident > 1_000_000 && resident < process.number("process_virtual_memory_bytes") ?? 0)
      let open = try #require(process.number("process_open_fds"))
      #expect(open > 3 && open < process.number("process_max_fds") ?? 0)
    }
  }

  @Test("A reload that is taken, and one that is refused")
  func reloads() async throws {
    try await TestProcess.run { process, _ in
      #expect(process.number("touchstone_reload_last_success_timestamp_seconds") == nil)
      #expect(process.number("touchstone_reload_refused_seconds") == 0)
      _ = try await process.reload("policies: {evening: {purpose: login, factors: [biometry]}}")
      #expect(
        try await process.untilNumber("touchstone_reloads_total{result=\"done\",cause=\"signal\"}") { $0 == 1 } == 1)
      #expect(process.number("touchstone_evaluations_total{policy=\"evening\",result=\"opened\"}") == 0)
      let taken = try await process.untilNumber("touchstone_reload_last_success_timestamp_seconds")
      #expect(process.number("touchstone_reload_refused_seconds") == 0)
      _ = try await process.reload("policies: {}x")
      #expect(
        try await process.untilNumber("touchstone_reloads_total{result=\"refused\",cause=\"signal\"}") { $0 == 1 } == 1)
      #expect(process.number("touchstone_reload_last_success_timestamp_seconds") == taken)
      // From the first refusal on, until the files are taken.
      let refusedFor = try #require(process.number("touchstone_reload_refused_seconds"))
      #expect(refusedFor > 0)
      _ = try await process.reload("policies: {}x")
      #expect(try #require(process.number("touchstone_reload_refused_seconds")) > refusedFor)
      _ = try await process.reload("")
      #expect(try await process.untilNumber("touchstone_reload_refused_seconds") { $0 == 0 } == 0)
    }
  }

  @Test("The store's transactions, the audit log's head and its verification, connections")
  func upkeep() async throws {
    try await TestProcess.run { process, _ in
      #expect(process.number("touchstone_connections") == 0)
      #expect(process.number("touchstone_serving") == 1)
      #expect(process.number("touchstone_secret_checks{state=\"waiting\"}") == 0)
      #expect(try await process.untilNumber("touchstone_audit_log_intact") == 1)
      #expect(try await process.untilNumber("touchstone_audit_log_verified_timestamp_seconds") > 0)
      let before = process.number("touchstone_store_batch_commits_sum") ?? 0
      let client = TouchstoneClient(configuration: TouchstoneClientConfiguration(target: "\(process.address)"))
      // A refusal is an event, and so a commit.
      _ = try await client.consumeToken(
        V1.ConsumeTokenRequest(applicationID: "com.example.bank", token: "none", transaction: nil))
      #expect(process.number("touchstone_connections") == 1)
      #expect(process.number("touchstone_store_batch_commits_sum") == before + 1)
      #expect(process.number("touchstone_token_consumptions_total{result=\"INVALID\"}") == 1)
      let fsyncs = try #require(process.number("touchstone_store_fsync_duration_seconds_count"))
      #expect(fsyncs >= 1)
      await client.close()
      // The sweeper looks each five seconds.
      let sequence = try await process.untilNumber("touchstone_audit_log_sequence")
      #expect(sequence >= 1)
      #expect(try await process.untilNumber("touchstone_sweeps_total{result=\"done\"}") { $0 >= 1 } >= 1)
      await process.stop()
      // Nothing is read any more of what has ended.
      #expect(process.number("touchstone_connections") == nil)
    }
  }

  @Test("TLS handshakes by result, and the end of the certificate")
  func encryption() async throws {
    let authority = CertificateAuthority()
    let server = authority.issue(CertificateRequest(commonName: "server", [.loopback], for: .server))
    let files = TemporaryDirectory()
    let (chain, key) = (files.write(server.chainPEM, to: "server.pem"), files.write(server.keyPEM, to: "server.key"))
    let clients = files.write(authority.pem, to: "clients.pem")
    let settings = """
      tls: {certificate: \(chain), key: \(key), client_authorities: \(clients), client_certificates: optional}
      callers: [{name: app, dns: app.test, applications: "*", methods: "*"}]
      """
    try await TestProcess.run(settings) { process, _ in
      let expiry = try #require(process.number("touchstone_certificate_expiry_timestamp_seconds"))
      #expect((3_000.0...4_000).contains(expiry - systemTime().inSeconds))
      #expect(process.number("touchstone_tls_handshakes_total{result=\"full\"}") == 0)
      var configuration = TouchstoneClientConfiguration(target: "\(process.address)")
      configuration.tls = try RPCClientTLS(authorities: .file(clients))
      let client = TouchstoneClient(configuration: configuration)
      let error = await #expect(throws: TouchstoneError.self) {
        _ = try await client.getSigningKeys(V1.GetSigningKeysRequest())
      }
      #expect(error?.code == .unauthenticated)
      #expect(process.number("touchstone_tls_handshakes_total{result=\"full\"}") == 1)
      #expect(process.number("touchstone_caller_refusals_total{reason=\"CREDENTIALS_MISSING\"}") == 1)
      await client.close()
    }
  }

  @Test("Archiving and trust data")
  func observers() throws {
    let meters = ServerMeters()
    func number(_ series: String) -> Double? {
      meters.registry.text().split(separator: "\n").first { $0.hasPrefix(series + " ") }
        .flatMap { Double($0.dropFirst(series.count + 1)) }
    }
    #expect(number("touchstone_archive_last_success_timestamp_seconds") == nil)
    meters.noteArchivedFile()
    meters.noteArchiving(isDone: true)
    meters.noteArchiving(isDone: false)
    #expect(number("touchstone_archive_files_total") == 1)
    #expect(number("touchstone_archive_failures_total") == 1)
    #expect(number("touchstone_archive_last_success_timestamp_seconds") ?? 0 > 0)
    meters.storeObserver.committed(3, .milliseconds(2))
    meters.storeObserver.committed(0, .milliseconds(2))
    #expect(number("touchstone_store_batch_commits_bucket{le=\"4\"}") == 1)
    #expect(number("touchstone_store_fsync_duration_seconds_sum") == 0.004)
    meters.clockOffset.set(-1.5)
    #expect(number("touchstone_clock_offset_seconds") == -1.5)
  }
}
