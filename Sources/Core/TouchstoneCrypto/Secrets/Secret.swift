/// Keeps key material out of logs, crash reports and test failures: a value that no description and no reflection
/// shows.
///
/// `print`, `dump`, string interpolation and `Mirror` walk the stored properties of any value, and the key types of
/// libraries hold their bytes in some of those. Every type that holds a key stores it in this one.
struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomReflectable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  var description: String { "(secret)" }
  var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
