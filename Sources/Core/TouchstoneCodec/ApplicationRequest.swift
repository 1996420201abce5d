// The application of a request.

/// A request that names an application, in itself or in one of its messages. Methods.swift lists these requests.
///
/// A sealed object (an evaluation, a ticket) opens only for the application of its sealing, and a token's application
/// is compared. The application in the request therefore counts for these, too.
package protocol ApplicationRequest {
  /// Empty: no particular application.
  var applicationID: String { get }
}
