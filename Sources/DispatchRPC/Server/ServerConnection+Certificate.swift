// A connection stands no longer than its client's certificate, and the trust in that.

extension ServerConnection {
  /// The certificate's time is the wall clock's, which may be set meanwhile.
  private static let certificateCheckInterval = Duration.seconds(60 * 60)

  /// Comes back when the certificate ends.
  func watchCertificate() {
    guard let validity = transport.certificateValidity, !isCertificateOver else { return }
    guard validity > .zero else {
      endCertificate()
      return
    }
    setTimer(TimerKind.certificate, after: min(validity, Self.certificateCheckInterval))
  }

  /// After the authorities changed.
  func reviewCertificate() {
    if hasBegun, !isCertificateOver, !transport.isTrusted { endCertificate() }
  }

  /// The client may come again with another certificate; calls that run get a grace.
  private func endCertificate() {
    isCertificateOver = true
    drain()
    close(after: server.configuration.certificateGrace)
  }
}
