// The pool names endpoints by number; here stands what is behind the numbers.

internal import DispatchPool

struct EndpointRegistry {
  private var ids: [ChannelEndpoint: EndpointID] = [:]
  private var endpoints: [EndpointID: ChannelEndpoint] = [:]
  private var nextNumber = 0

  subscript(_ id: EndpointID) -> ChannelEndpoint? { endpoints[id] }

  /// An endpoint that is known keeps its name.
  mutating func enter(_ found: [ChannelEndpoint]) -> [EndpointID] {
    found.map { endpoint in
      if let id = ids[endpoint] { return id }
      let id = EndpointID(nextNumber)
      nextNumber += 1
      ids[endpoint] = id
      endpoints[id] = endpoint
      return id
    }
  }

  mutating func forgetAll(but kept: Set<EndpointID>) {
    for (id, endpoint) in endpoints where !kept.contains(id) {
      endpoints[id] = nil
      ids[endpoint] = nil
    }
  }
}
