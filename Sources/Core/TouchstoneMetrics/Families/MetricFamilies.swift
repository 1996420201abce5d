/// Every family that the service exposes, in the order of the text. docs/METRICS.md shows the table.
package enum MetricFamilies {
  package static let all: [MetricFamily] =
    calls + evaluations + bindings + refusals + tokens + secrets + store + connections + auditLog + upkeep + process

  package static let calls: [MetricFamily] = [
    .callsStarted, .callDuration, .callSentBytes, .callReceivedBytes, .callsInFlight,
  ]
  package static let evaluations: [MetricFamily] = [
    .evaluations, .attempts, .evaluationDenials, .contextRefusals, .lockouts, .domainStateVerdicts,
  ]
  package static let bindings: [MetricFamily] = [.bindingsCreated, .bindingsRevoked, .sharedDevices]
  package static let refusals: [MetricFamily] = [.refusals, .callerRefusals]
  package static let tokens: [MetricFamily] = [.tokenIntrospections, .tokenConsumptions]
  package static let secrets: [MetricFamily] = [.oldSecretChecks, .secretChecks, .secretHashDuration]
  package static let store: [MetricFamily] = [
    .storeLatency, .storeFailures, .storeConflicts, .storeBatch, .storeFsync, .storeOverloads, .storeCheckpoints,
    .storeLogPages, .storeSize, .storeConnections, .storeTransactions,
  ]
  package static let connections: [MetricFamily] = [.openConnections, .handshakes, .certificateExpiry]
  package static let auditLog: [MetricFamily] = [
    .auditSequence, .auditVerified, .auditIntact, .auditUnsealed, .eventsSuppressed, .archivedFiles, .archiveFailures,
    .archiveSuccess, .archiveSize, .backupSuccess, .backupSize, .backupFailures, .backupOverdue,
  ]
  package static let upkeep: [MetricFamily] = [
    .filesystemAvailable, .filesystemSize, .trustDataWritten, .sweeps, .sweepSuccess, .clockOffset, .reloads,
    .reloadSuccess, .reloadRefused, .seriesRefused, .logLinesDropped, .spansExported, .spansDropped, .tracesLimited,
  ]
  package static let process: [MetricFamily] = [
    .serving, .buildInfo, .processCPU, .processResident, .processVirtual, .processOpenFiles, .processMaximumFiles,
    .processStart,
  ]
}

// MARK: - gRPC (proposal A66, as OpenTelemetry's Prometheus exporter spells it)

extension MetricFamily {
  private static let ofMethod = ["grpc_method"]
  private static let ofCall = ["grpc_method", "grpc_status"]

  package static let callsStarted = MetricFamily(
    "grpc_server_call_started_total", .counter, labels: ofMethod,
    help: "Calls started, including those that have not ended. Methods that the service does not serve count as other.")
  package static let callDuration = MetricFamily(
    "grpc_server_call_duration_seconds", .histogram(.latencyOfGRPC), .seconds, labels: ofCall,
    help: "Time from a call's headers to its status.")
  package static let callSentBytes = MetricFamily(
    "grpc_server_call_sent_total_compressed_message_size_bytes", .histogram(.sizesOfGRPC), .bytes, labels: ofCall,
    help: "Bytes of a call's answers, compressed and without frames.")
  package static let callReceivedBytes = MetricFamily(
    "grpc_server_call_rcvd_total_compressed_message_size_bytes", .histogram(.sizesOfGRPC), .bytes, labels: ofCall,
    help: "Bytes of a call's requests, compressed and without frames.")
  package static let callsInFlight = MetricFamily(
    "touchstone_calls_in_flight", .gauge,
    help: "Calls that have begun and not ended, also those that wait for their turn, and streams.")
}

// MARK: - The rules' decisions

extension MetricFamily {
  package static let evaluations = MetricFamily(
    "touchstone_evaluations_total", .counter, labels: ["policy", "result"],
    help: "Answers of BeginEvaluation, and evaluations that were invalidated: opened, denied or invalidated.")
  package static let attempts = MetricFamily(
    "touchstone_attempts_total", .counter, labels: ["policy", "factor", "outcome"],
    help: "Attempts that were decided. The factor of a device's report is none, and other if the policy lacks it.")
  package static let evaluationDenials = MetricFamily(
    "touchstone_evaluation_denials_total", .counter, labels: ["reason"],
    help: "Evaluations that BeginEvaluation denied, by the denial's reason.")
  package static let contextRefusals = MetricFamily(
    "touchstone_evaluation_refusals_total", .counter, labels: ["reason"],
    help: "Attempts whose evaluation is unknown, expired, or of another revision of its policy.")
  package static let lockouts = MetricFamily(
    "touchstone_lockouts_total", .counter, labels: ["kind"],
    help: "Locks that began: of a device, a passcode or a gesture.")
  package static let domainStateVerdicts = MetricFamily(
    "touchstone_domain_state_verdicts_total", .counter, labels: ["call", "verdict"],
    help: "Comparisons of enrolled fingers and faces with a binding's, in BeginEvaluation and SubmitAttempt.")

  package static let bindingsCreated = MetricFamily(
    "touchstone_bindings_created_total", .counter, labels: ["attestation"],
    help: "Bindings made, by what is proven of their keys.")
  package static let bindingsRevoked = MetricFamily(
    "touchstone_bindings_revoked_total", .counter, labels: ["cause"],
    help: "Bindings revoked: requested by a caller, or replaced by a new one of the device.")
  package static let sharedDevices = MetricFamily(
    "touchstone_shared_devices_total", .counter,
    help: "Device ids that this process saw bound to more than 8 profiles of an application within 30 days.")

  package static let refusals = MetricFamily(
    "touchstone_refusals_total", .counter, labels: ["reason"],
    help: "Calls that a handler refused, by the reason in ErrorInfo; without one, by the status.")
  package static let callerRefusals = MetricFamily(
    "touchstone_caller_refusals_total", .counter, labels: ["reason"],
    help: "Calls and TLS handshakes refused because of the caller's credentials or grants.")

  package static let tokenIntrospections = MetricFamily(
    "touchstone_token_introspections_total", .counter, labels: ["result"],
    help: "Answers of IntrospectToken: active or inactive.")
  package static let tokenConsumptions = MetricFamily(
    "touchstone_token_consumptions_total", .counter, labels: ["result"],
    help: "Answers of ConsumeToken: consumed, or the reason why not.")

  package static let oldSecretChecks = MetricFamily(
    "touchstone_old_secret_checks_total", .counter, labels: ["factor", "result"],
    help: "Old passcodes and gestures that SetSecret and RemoveSecret verified: right or wrong.")
  package static let secretChecks = MetricFamily(
    "touchstone_secret_checks", .gauge, labels: ["state"],
    help: "Passcodes and gestures that wait for a place, have one, or are hashed now.")
  package static let secretHashDuration = MetricFamily(
    "touchstone_secret_hash_duration_seconds", .histogram(.hashing), .seconds,
    help: "Time that a worker took for one passcode or gesture (Argon2id).")
}

// MARK: - The store

extension MetricFamily {
  package static let storeLatency = MetricFamily(
    "touchstone_store_commit_duration_seconds", .histogram(.disks), .seconds,
    help: "Time that a call's changes took to become durable, with their wait for others.")
  package static let storeFailures = MetricFamily(
    "touchstone_store_failures_total", .counter, labels: ["code"],
    help: "Calls that the store failed: unavailable, in_doubt or corrupt.")
  package static let storeConflicts = MetricFamily(
    "touchstone_store_conflicts_total", .counter,
    help: "Commits that were decided again because a record had changed.")
  package static let storeBatch = MetricFamily(
    "touchstone_store_batch_commits", .histogram(.batches),
    help: "Change sets that shared one transaction.")
  package static let storeFsync = MetricFamily(
    "touchstone_store_fsync_duration_seconds", .histogram(.disks), .seconds,
    help: "SQLite: time of a COMMIT with its fsync. PostgreSQL: time of a transaction with its round trip.")
  package static let storeOverloads = MetricFamily(
    "touchstone_store_overloads_total", .counter,
    help: "SQLite: writes refused because too many were waiting.")
  package static let storeCheckpoints = MetricFamily(
    "touchstone_store_checkpoints_total", .counter,
    help: "SQLite: times that the write-ahead log was copied into the database as a whole.")
  package static let storeLogPages = MetricFamily(
    "touchstone_store_wal_pages", .gauge,
    help: "SQLite: pages in the write-ahead log.")
  package static let storeSize = MetricFamily(
    "touchstone_store_size_bytes", .gauge, .bytes,
    help: "SQLite: size of the data directory's files. PostgreSQL: size of the database, at most a minute old.")
  package static let storeConnections = MetricFamily(
    "touchstone_store_connections", .gauge, labels: ["lane", "state"],
    help: "PostgreSQL: connections of each lane: connecting, serving or leaving.")
  package static let storeTransactions = MetricFamily(
    "touchstone_store_transactions", .gauge, labels: ["lane", "state"],
    help: "PostgreSQL: places for transactions of each lane, in_use or idle, and transactions waiting for one.")
}

// MARK: - Connections

extension MetricFamily {
  package static let openConnections = MetricFamily(
    "touchstone_connections", .gauge, help: "Open connections of clients.")
  package static let handshakes = MetricFamily(
    "touchstone_tls_handshakes_total", .counter, labels: ["result"],
    help: "TLS handshakes: full, resumed, refused for the certificate or its lack, or failed for another cause.")
  package static let certificateExpiry = MetricFamily(
    "touchstone_certificate_expiry_timestamp_seconds", .gauge, .seconds,
    help: "When the first certificate of the service's own chain ends, in seconds since 1970.")
}

// MARK: - The audit log

extension MetricFamily {
  package static let auditSequence = MetricFamily(
    "touchstone_audit_log_sequence", .gauge, help: "Sequence of the latest sealed event, a few seconds old.")
  package static let auditVerified = MetricFamily(
    "touchstone_audit_log_verified_timestamp_seconds", .gauge, .seconds,
    help: "When this process last read the whole audit log, in seconds since 1970.")
  package static let auditIntact = MetricFamily(
    "touchstone_audit_log_intact", .gauge,
    help: "1: the last reading found each event as it was written. 0: it found a fault.")
  package static let auditUnsealed = MetricFamily(
    "touchstone_audit_log_unsealed_seconds", .gauge, .seconds,
    help: "PostgreSQL: for how long the log's end has stayed in place while events wait to be sealed; 0: none waits.")
  package static let eventsSuppressed = MetricFamily(
    "touchstone_events_suppressed_total", .counter,
    help: "Events of refusals that were left out because there were too many like them.")
  package static let archivedFiles = MetricFamily(
    "touchstone_archive_files_total", .counter, help: "Files of old events written to the archive.")
  package static let archiveFailures = MetricFamily(
    "touchstone_archive_failures_total", .counter, help: "Rounds of archiving that failed.")
  package static let archiveSuccess = MetricFamily(
    "touchstone_archive_last_success_timestamp_seconds", .gauge, .seconds,
    help: "When a round of archiving last ended well, in seconds since 1970.")
  package static let archiveSize = MetricFamily(
    "touchstone_archive_size_bytes", .gauge, .bytes, help: "Size of the archive directory's files.")
  package static let backupSuccess = MetricFamily(
    "touchstone_backup_last_success_timestamp_seconds", .gauge, .seconds,
    help: "Time of the last good backup that the service made, in seconds since 1970.")
  package static let backupSize = MetricFamily(
    "touchstone_backup_size_bytes", .gauge, .bytes, help: "Size of the last good backup.")
  package static let backupFailures = MetricFamily(
    "touchstone_backup_failures_total", .counter, help: "Backups by the service that failed.")
  package static let backupOverdue = MetricFamily(
    "touchstone_backup_overdue_seconds", .gauge, .seconds,
    help: "With backup: for how long the next backup has been due; 0: it is not yet.")
}

// MARK: - Upkeep

extension MetricFamily {
  package static let filesystemAvailable = MetricFamily(
    "touchstone_filesystem_available_bytes", .gauge, .bytes, labels: ["directory"],
    help: "Free room on the disk of the data, of the archive, or of the backups, for this user.")
  package static let filesystemSize = MetricFamily(
    "touchstone_filesystem_size_bytes", .gauge, .bytes, labels: ["directory"],
    help: "Size of the disk of the data, of the archive, or of the backups.")
  package static let trustDataWritten = MetricFamily(
    "touchstone_trust_data_timestamp_seconds", .gauge, .seconds, labels: ["setting"],
    help: "When a file of roots or revocations was written, in seconds since 1970.")
  package static let sweeps = MetricFamily(
    "touchstone_sweeps_total", .counter, labels: ["result"],
    help: "Sweeps of expired records: done or failed.")
  package static let sweepSuccess = MetricFamily(
    "touchstone_sweep_last_success_timestamp_seconds", .gauge, .seconds,
    help: "When expired records were last swept, in seconds since 1970.")
  package static let clockOffset = MetricFamily(
    "touchstone_clock_offset_seconds", .gauge, .seconds,
    help: "PostgreSQL: by how much this machine's clock is ahead of the database's.")
  package static let reloads = MetricFamily(
    "touchstone_reloads_total", .counter, labels: ["result", "cause"],
    help: "Reloads of the configuration: done or refused, because of a signal or because files changed.")
  package static let reloadSuccess = MetricFamily(
    "touchstone_reload_last_success_timestamp_seconds", .gauge, .seconds,
    help: "When the configuration in force was read, in seconds since 1970.")
  package static let reloadRefused = MetricFamily(
    "touchstone_reload_refused_seconds", .gauge, .seconds,
    help: "For how long the configuration, or a file of it, has been refused as it is on disk; 0: all are taken.")
  package static let seriesRefused = MetricFamily(
    "touchstone_metric_series_refused_total", .counter,
    help: "Series that were not made, because their family has as many as it may have: a mistake in the service.")
  package static let logLinesDropped = MetricFamily(
    "touchstone_log_lines_dropped_total", .counter,
    help: "Log lines that were dropped, because what reads stderr was slower than what was logged.")
  package static let spansExported = MetricFamily(
    "touchstone_trace_spans_exported_total", .counter, help: "Spans that the collector took.")
  package static let spansDropped = MetricFamily(
    "touchstone_trace_spans_dropped_total", .counter, labels: ["reason"],
    help:
      "Spans that were lost: queue_full while the collector was down or slow, refused by it, or stopped with the process."
  )
  package static let tracesLimited = MetricFamily(
    "touchstone_traces_limited_total", .counter,
    help: "Calls that were not traced, because as many as the service traces in a second were sampled already.")
}

// MARK: - The process

extension MetricFamily {
  package static let serving = MetricFamily(
    "touchstone_serving", .gauge,
    help: "1 while /readyz answers 200. 0: the service drains, or the store does not answer, or the clock is behind.")
  package static let buildInfo = MetricFamily(
    "touchstone_build_info", .gauge, labels: ["version"], help: "1, with the version as a label.")
  package static let processCPU = MetricFamily(
    "process_cpu_seconds_total", .counter, .seconds, help: "Processor time of the process.")
  package static let processResident = MetricFamily(
    "process_resident_memory_bytes", .gauge, .bytes, help: "Resident memory of the process.")
  package static let processVirtual = MetricFamily(
    "process_virtual_memory_bytes", .gauge, .bytes, help: "Virtual memory of the process.")
  package static let processOpenFiles = MetricFamily(
    "process_open_fds", .gauge, help: "Open descriptors of the process.")
  package static let processMaximumFiles = MetricFamily(
    "process_max_fds", .gauge, help: "Descriptors that the process may have open.")
  package static let processStart = MetricFamily(
    "process_start_time_seconds", .gauge, .seconds, help: "When the process started, in seconds since 1970.")
}

// MARK: - Buckets

extension Buckets {
  /// A66's.
  fileprivate static let latencyOfGRPC = Buckets.seconds([
    0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013,
    0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5,
    10, 20, 50, 100,
  ])
  /// A66's.
  fileprivate static let sizesOfGRPC = Buckets.counts([
    0, 1_024, 2_048, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
    1_073_741_824, 4_294_967_296,
  ])
  /// From a cached SSD to a disk that hangs.
  fileprivate static let disks = Buckets.seconds([
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
  ])
  /// Some 25 ms each, on a busy machine many times that.
  fileprivate static let hashing = Buckets.seconds([0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5])
  /// SQLite's batches have at most 512.
  fileprivate static let batches = Buckets.counts([1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
}
