// Memory that the server holds for its clients: counted for each connection, and for all of an event loop.

struct BufferedBytes {
  /// Metadata of calls that no handler has yet.
  var metadata = 0
  /// Requests received in part, or whole and waiting, and messages that their handlers have not asked for.
  var requests = 0
  /// Answers that the clients have not taken.
  var responses = 0

  /// All that came from clients.
  var received: Int { metadata + requests }
}
