// Collects the signature checks of one pass of an event loop, and does them together.
//
// A verification costs as much as a dozen whole calls (49 µs and 4 µs). If one connection brings a hundred of them,
// idle cores take a part.

internal import Dispatch
internal import Synchronization
internal import TouchstoneAttestation
internal import TouchstoneCrypto

/// The checks of one pass of an event loop. Used only on that event loop (see `LoopContext`).
final class VerificationBatch {
  typealias Completion = @Sendable (Bool) -> Void

  private var checks: [SignatureCheck] = []
  private var completions: [Completion] = []
  /// They also verify other kinds of signatures, one by one.
  let workers: VerificationWorkers

  init(workers: VerificationWorkers) {
    self.workers = workers
  }

  /// `completion` runs on the event loop, at the end of this pass or soon after.
  func add(_ check: SignatureCheck, completion: @escaping Completion) {
    checks.append(check)
    completions.append(completion)
  }

  /// Verifies the collected signatures, in part here and in part on idle cores.
  func flush(on loop: some CallLoop) {
    // A completion may add a check, so this repeats until none is left.
    while !checks.isEmpty {
      let checks = self.checks
      let completions = self.completions
      self.checks = []
      self.completions = []
      workers.verify(checks, completions, on: loop)
    }
  }
}

/// Shares batches among the cores.
final class VerificationWorkers: Sendable {
  /// With fewer checks, another thread costs more than it saves (about 5 µs there and back).
  private static let minimumChecksPerWorker = 2

  private let verifier: BatchVerifier
  private let cores: Int
  /// The number of threads that are verifying.
  private let running = Atomic<Int>(0)
  private let queue = DispatchQueue(label: "touchstone.verification", attributes: .concurrent)
  private let apart: (any SecretExecutor)?

  /// - Parameter apart: runs `ApartCheck`s; `nil`: threads beside the event loops.
  init(cores: Int, verifier: BatchVerifier, apart: (any SecretExecutor)? = nil) {
    self.cores = cores
    self.verifier = verifier
    self.apart = apart
  }

  func verify(_ checks: [SignatureCheck], _ completions: [VerificationBatch.Completion], on loop: some CallLoop) {
    let groups = (checks.count + verifier.groupSize - 1) / verifier.groupSize
    let threads = reserve(upTo: max(1, min(groups, checks.count / Self.minimumChecksPerWorker)))
    let parts = Self.split(checks.count, into: threads, groupSize: verifier.groupSize)
    for part in parts.dropFirst() {
      queue.async { [self] in
        let results = verifier.verify(Array(checks[part]))
        release()
        loop.execute {
          for (completion, result) in zip(completions[part], results) { completion(result) }
        }
      }
    }
    let results = verifier.verify(Array(checks[parts[0]]))
    release()
    for (completion, result) in zip(completions[parts[0]], results) { completion(result) }
  }

  /// On another thread, however idle the cores are: on the event loop, one check of a costly algorithm would delay
  /// every call. `completion` runs on the event loop.
  func run(
    _ check: ApartCheck, on loop: any CallLoop, completion: @escaping VerificationBatch.Completion
  ) {
    let verify: @Sendable () -> Void = {
      let isValid = check.isValid
      loop.execute { completion(isValid) }
    }
    if let apart { apart.run(verify) } else { queue.async(execute: verify) }
  }

  /// Reserves at least the caller's own thread, and more if cores are idle.
  private func reserve(upTo wanted: Int) -> Int {
    var current = running.load(ordering: .relaxed)
    while true {
      let granted = max(1, min(wanted, cores - current))
      let (exchanged, original) = running.compareExchange(
        expected: current, desired: current + granted, ordering: .relaxed)
      if exchanged { return granted }
      current = original
    }
  }

  private func release() {
    running.subtract(1, ordering: .relaxed)
  }

  /// Splits between groups, as evenly as possible, in order. Only the last group may be smaller.
  static func split(_ count: Int, into parts: Int, groupSize: Int) -> [Range<Int>] {
    let groups = (count + groupSize - 1) / groupSize
    func end(_ part: Int) -> Int { min(count, groups * part / parts * groupSize) }
    return (0..<parts).map { end($0)..<end($0 + 1) }
  }
}

/// The check of a signature that is verified apart from batches: by a passkey's key that is not for ES256, or by a
/// phone's RSA key.
enum ApartCheck: Sendable {
  case passkey(PasskeyClaim, publicKey: [UInt8], signature: [UInt8])
  /// - Parameter publicKey: SubjectPublicKeyInfo in DER.
  case rsa(publicKey: [UInt8], signature: [UInt8], message: [UInt8])

  /// Takes long.
  var isValid: Bool {
    do throws(ProofError) {
      switch self {
      case .passkey(let claim, let publicKey, let signature):
        try claim.verify(signature, by: try COSEKey(publicKey, as: .wellFormed))
        return true
      case .rsa(let publicKey, let signature, let message):
        return try RSAPublicKey(subjectPublicKeyInfo: publicKey).isValidSignature(signature, of: message)
      }
    } catch {
      return false
    }
  }
}
