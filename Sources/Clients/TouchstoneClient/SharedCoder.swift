internal import Synchronization
internal import TouchstoneCodec

/// A message coder for many threads. Coding a message takes less than a microsecond, so one lock serves them all.
final class SharedCoder: Sendable {
  private let coder: Mutex<MessageCoder>

  init(limits: DecodingLimits = .default) {
    coder = Mutex(MessageCoder(limits: limits))
  }

  func encode(_ message: some WireMessage) throws(EncodingError) -> [UInt8] {
    try coder.withLock { (coder) throws(EncodingError) in try coder.encode(message) }
  }

  func decode<Message: WireMessage>(_ type: Message.Type, from bytes: [UInt8]) -> Result<Message, TouchstoneError> {
    coder.withLock { coder in
      do throws(DecodingError) {
        return .success(try coder.decode(type, from: bytes))
      } catch {
        return .failure(TouchstoneError(error))
      }
    }
  }
}
