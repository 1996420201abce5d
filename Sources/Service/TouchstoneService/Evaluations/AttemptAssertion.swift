// The app's word for an attempt by the key: an assertion by the App Attest key that vouched for the binding (R43).
//
// It is verified before the key's own signature, and what is wrong with it has one answer for all bindings, whether
// they have no such key or another one. Nothing is counted: the app sends the attempt again with a new one.

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct OfferedAppAssertion: Sendable {
  let assertion: AppAssertion
  /// As it was sent.
  let posture: PostureTerms
  /// The application's requirements when the attempt came in.
  let requirements: AttestationRequirements
}

extension OfferedAppAssertion {
  /// `nil`: there is none, or the application does not look at proofs.
  init?(_ request: V1.SubmitAttemptRequest, of service: TouchstoneService) throws(RequestError) {
    guard !request.appAssertion.isEmpty else { return nil }
    requirements = service.keyProofs.requirements(of: request.applicationID)
    guard requirements.demand != .none else { return nil }
    do throws(ProofError) {
      assertion = try AppAssertion(request.appAssertion)
    } catch {
      throw .invalidArgument(error, field: "app_assertion")
    }
    posture = PostureTerms(request.posture)
  }
}

extension RequestValidator {
  mutating func appAssertion(of request: V1.SubmitAttemptRequest, on platform: Platform) {
    guard !request.appAssertion.isEmpty else { return }
    opaque(request.appAssertion, "app_assertion", count: 1...AppAssertion.maximumBytes)
    if case .key? = request.attempt {} else { refuse("app_assertion", "is taken beside key alone") }
    if !platform.hasAppAttest { refuse("app_assertion", "is Apple's, and the posture is of another platform") }
  }
}
