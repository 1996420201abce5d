// As much of SwiftUI as the example names, so that it is compiled where SwiftUI is not. It draws nothing.

public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor var body: Body { get }
}

extension Never: View {
  public var body: Never { return fatalError("nothing is drawn") }
}

extension Optional: View where Wrapped: View {
  public var body: Never { return fatalError("nothing is drawn") }
}

public struct Group<each Content: View>: View {
  public var body: Never { return fatalError("nothing is drawn") }
}

@resultBuilder
public enum ViewBuilder {
  public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Group<repeat each Content> {
    Group()
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

public struct VStack<Content: View>: View {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { return fatalError("nothing is drawn") }
}

public struct Text: View {
  public init(_ text: String) {}
  public var body: Never { return fatalError("nothing is drawn") }
}

public struct Button: View {
  public init(_ title: String, action: @escaping @MainActor () -> Void) {}
  public var body: Never { return fatalError("nothing is drawn") }
}

public struct SecureField: View {
  public init(_ title: String, text: Binding<String>) {}
  public var body: Never { return fatalError("nothing is drawn") }
}

@propertyWrapper
public struct Binding<Value> {
  public let get: () -> Value
  public let set: (Value) -> Void

  public var wrappedValue: Value {
    get { get() }
    nonmutating set { set(newValue) }
  }
}

@propertyWrapper
public final class State<Value> {
  public var wrappedValue: Value

  public init(wrappedValue: Value) {
    self.wrappedValue = wrappedValue
  }

  public var projectedValue: Binding<Value> {
    Binding(get: { self.wrappedValue }, set: { self.wrappedValue = $0 })
  }
}

extension View {
  public func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
}
