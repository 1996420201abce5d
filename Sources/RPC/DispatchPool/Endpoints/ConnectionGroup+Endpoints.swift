// Endpoints come and go: a new resolution takes the old one's place, and no connection is lost by it.

extension ConnectionGroup {
  var listedEndpoints: Range<Int> { 0..<listed }

  /// Endpoints that are named again stay as they are. The others are no longer listed; those without connections are
  /// forgotten.
  mutating func replaceEndpoints(with ids: [EndpointID]) {
    var known: [EndpointID: Endpoint] = [:]
    for endpoint in endpoints { known[endpoint.id] = endpoint }
    var replaced: [Endpoint] = []
    var seen: Set<EndpointID> = []
    for id in ids where seen.insert(id).inserted {
      var endpoint = known.removeValue(forKey: id) ?? makeEndpoint(id)
      endpoint.isListed = true
      replaced.append(endpoint)
    }
    listed = replaced.count
    for var endpoint in endpoints where known[endpoint.id] != nil && endpoint.counts.total > 0 {
      endpoint.isListed = false
      replaced.append(endpoint)
    }
    install(replaced)
  }

  /// Removes the endpoints that are gone and have closed their last connection.
  mutating func forgetGoneEndpoints() {
    guard endpoints.count > listed, endpoints[listed...].contains(where: { $0.counts.total == 0 }) else { return }
    install(endpoints.filter { $0.isListed || $0.counts.total > 0 })
  }

  /// - Precondition: those listed come first, and none with connections is missing.
  private mutating func install(_ replaced: [Endpoint]) {
    var places: [EndpointID: Int] = [:]
    for (place, endpoint) in replaced.enumerated() { places[endpoint.id] = place }
    for slot in slots.indices {
      guard let member = slots[slot] else { continue }
      guard let place = places[member.id.endpoint] else {
        preconditionFailure("an endpoint with a connection is not forgotten")
      }
      slots[slot]?.endpoint = place
    }
    chosen = chosen.flatMap { places[endpoints[$0].id] }.flatMap { replaced[$0].isListed ? $0 : nil }
    endpoints = replaced
    if cursor >= listed { cursor = 0 }
  }
}
