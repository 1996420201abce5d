// Reads bindings with the records that their attempts depend on: those that wait at the same time, with one statement.

internal import DispatchPool
internal import TouchstonePolicy
internal import TouchstoneStore

/// The server then starts and ends one query for many attempts. Each still has its own rows and its own answer.
struct BindingReader: Sendable {
  typealias Completion = @Sendable (Result<AttemptRecords, PostgresError>) -> Void

  struct Question: Sendable {
    let applicationID: String
    let bindingID: String
    let vendor: Vendor
    let evaluation: ExpiringKey?

    var subject: AttemptSubject { .binding(applicationID: applicationID, bindingID: bindingID) }
  }

  private struct Read: Sendable {
    let question: Question
    let deadline: MonotonicTime
    let completion: Completion
  }

  private let reads: ConnectionLane
  private let batcher: Batcher<Read>

  init(reads: ConnectionLane, batches: BatchLimits) {
    self.reads = reads
    batcher = Batcher(batches)
  }

  func read(_ question: Question, completion: @escaping Completion) {
    let read = Read(question: question, deadline: .now() + reads.timeout, completion: completion)
    if !batcher.add(read, run: run) { completion(.failure(PostgresError(.tooManyWaiting))) }
  }

  private func run(_ batch: [Read], _ ended: @escaping @Sendable () -> Void) {
    // The first to come has the earliest deadline.
    reads.run([Self.call(batch.map(\.question))], until: batch[0].deadline, isQuestion: true) { result in
      ended()
      switch result {
      case .success(let results): Self.answer(batch, results)
      case .failure(let error): for read in batch { read.completion(.failure(error)) }
      }
    }
  }

  private static func answer(_ batch: [Read], _ results: [QueryResult]) {
    let result = results[0]
    guard result.rowCount == batch.count else {
      for read in batch { read.completion(.failure(.corrupt("an answer is missing"))) }
      return
    }
    for number in 0..<result.rowCount {
      var row = result.row(number)
      guard let read = batch.element(at: row.integer() - 1) else { continue }
      read.completion(
        Result { () throws(PostgresError) in
          let question = read.question
          return try RecordQueries.attemptRecords(
            of: question.subject, question.vendor, evaluation: question.evaluation, &row)
        })
    }
  }

  private static func call(_ questions: [Question]) -> StatementCall {
    if questions.count == 1, questions[0].vendor == .everybody { return call(questions[0]) }
    guard questions.contains(where: { $0.evaluation != nil }) else { return callWithoutEvaluations(questions) }
    var rows = RowArrays([.bytea, .bytea, .bytea, .smallint, .bigint, .bytea])
    for question in questions {
      rows.append(
        .row.bind(question.applicationID).bind(question.bindingID).bind(question.vendor.storedPrefix)
          .bind(question.evaluation))
    }
    return StatementCall(.attemptsOfBindings).bind(rows)
  }

  private static func call(_ question: Question) -> StatementCall {
    let isAttempt = question.evaluation != nil
    let call = StatementCall(isAttempt ? .attemptOfBinding : .subjectOfBinding).bind(question.applicationID)
      .bind(question.bindingID)
    return isAttempt ? call.bind(question.evaluation) : call
  }

  private static func callWithoutEvaluations(_ questions: [Question]) -> StatementCall {
    var rows = RowArrays([.bytea, .bytea, .bytea])
    for question in questions {
      rows.append(.row.bind(question.applicationID).bind(question.bindingID).bind(question.vendor.storedPrefix))
    }
    return StatementCall(.subjectsOfBindings).bind(rows)
  }
}

extension Array {
  fileprivate func element(at index: Int64) -> Element? {
    Int(exactly: index).flatMap { indices.contains($0) ? self[$0] : nil }
  }
}
