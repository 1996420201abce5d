import DispatchRPC
import Encodings
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneStore

@testable import TouchstoneService

/// Binding by an identifier that the device made up, instead of a key.
struct ProfileTouchIDBindingTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  private static let value = Array("9f1c0a7be65d4432".utf8)

  private func complete(
    _ service: TestService, _ phone: TestPhone = TestPhone(), _ value: [UInt8] = value, keys: [V1.HardwareKey] = [],
    replacing: Bool = false, applicationID: String = TestService.applicationID
  ) async throws -> V1.Binding {
    let begun: V1.BeginBindingResponse = try await service.call(
      "BindingService/BeginBinding",
      V1.BeginBindingRequest(
        applicationID: applicationID, profileID: phone.profileID, deviceID: phone.deviceID, primary: service.primary(),
        posture: phone.posture))
    let response: V1.CompleteBindingResponse = try await service.call(
      "BindingService/CompleteBinding",
      V1.CompleteBindingRequest(
        applicationID: applicationID, ticket: begun.ticket, keys: keys,
        profileTouchID: V1.ProfileTouchID(value: value), posture: phone.posture, replaceExisting: replacing))
    return try #require(response.binding)
  }

  // R30
  @Test func whoShowsItLogsInAndOnlyItsDigestIsStored() async throws {
    let binding = try await complete(service)
    #expect(binding.credential == .profileTouchID && binding.protections.isEmpty && binding.domainStateRecorded)
    let stored = service.store.records.binding(binding.bindingID)
    #expect(stored?.credential == .profileTouchID(digest: service.keys.pepper.digest(ofProfileTouchID: Self.value)))
    #expect(!"\(service.store.records)".contains(Base64URL.encode(Self.value)))
    let answer = try await service.attempt(
      .profileTouchID(V1.ProfileTouchIDProof(profileTouchID: Self.value)), profileID: "")
    #expect(answer.outcome == .succeeded && answer.profileID == "alice")
  }

  // R30: and nothing of it is used up by the refusal but the ticket's time.
  @Test(arguments: [
    [UInt8](repeating: 7, count: 16), Array(0..<16), Array("xx alice's phone".utf8),
    Array("my PHONE-1-5F9C27E8AB4D6B is mine".utf8),
  ]) func whatIsGuessableIsRefused(_ value: [UInt8]) async throws {
    let error = await refusal { try await complete(service, TestPhone(), value) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields == ["profile_touch_id.value"])
    #expect(service.events.map(\.kind) == ["binding.refused"])
    #expect(service.events[0].details == [EventDetail(key: "reason", value: "PROFILE_TOUCH_ID_GUESSABLE")])
    #expect(service.store.records.bindings.isEmpty)
  }

  // R30
  @Test(arguments: [0, 15, 129]) func itsLengthIsBounded(_ count: Int) async throws {
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 * $0) }
    let error = await refusal { try await complete(service, TestPhone(), value) }
    #expect(error.fields == ["profile_touch_id.value"])
    #expect(service.events.isEmpty)
  }

  @Test func itIsTakenInsteadOfKeys() async throws {
    let phone = TestPhone()
    let error = await refusal { try await complete(service, phone, keys: phone.keys(signing: [1])) }
    #expect(error.fields == ["profile_touch_id"])
  }

  // R30: it names one binding of an application; the answer says no more than that another must be made.
  @Test func whatAnotherHasIsRefusedLikeWhatIsGuessable() async throws {
    _ = try await complete(service)
    let others = [
      TestPhone(deviceID: "phone-2-5f9c27e8ab4d6b"), TestPhone(deviceID: "phone-3-5f9c27e8ab4d6b", profileID: "bob"),
    ]
    let guessable = await refusal { try await complete(service, others[0], [UInt8](repeating: 7, count: 16)) }
    for phone in others {
      let error = await refusal { try await complete(service, phone) }
      #expect((error.code, error.message, error.fields) == (guessable.code, guessable.message, guessable.fields))
      #expect(error.reason == nil)
      #expect(service.events.last?.details == [EventDetail(key: "reason", value: "PROFILE_TOUCH_ID_IN_USE")])
      #expect(service.events.last?.profileID == phone.profileID)
    }
  }

  // R30
  @Test func eachApplicationHasItsOwn() async throws {
    _ = try await complete(service)
    #expect(try await complete(service, applicationID: "com.example.shop").state == .active)
  }

  // R29, R30: a device may keep its identifier, also for another account.
  @Test func theDevicesOwnMayBeBoundAnew() async throws {
    let (first, second) = (try await complete(service), try await complete(service))
    #expect(service.store.records.binding(first.bindingID)?.isRevoked == true)
    let bob = try await complete(service, TestPhone(profileID: "bob"), replacing: true)
    #expect(service.store.records.binding(second.bindingID)?.isRevoked == true)
    let answer = try await service.attempt(
      .profileTouchID(V1.ProfileTouchIDProof(profileTouchID: Self.value)), profileID: "")
    #expect(answer.profileID == "bob")
    #expect(service.store.records.binding(bob.bindingID)?.isRevoked == false)
  }

  // R30: of two devices at once, one gets it.
  @Test func ofParallelBindingsOneHoldsIt() async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: .later), connections: 2)
    let codes = await withTaskGroup(of: RPCCode?.self) { group in
      for number in 0..<6 {
        group.addTask {
          do {
            _ = try await complete(
              service, TestPhone(deviceID: "phone-5f9c27e8ab4d6b-\(number)", profileID: "person-\(number)"))
            return nil
          } catch {
            return (error as? RPCError)?.code
          }
        }
      }
      return await group.reduce(into: [RPCCode?]()) { $0.append($1) }
    }
    #expect(codes.filter { $0 == nil }.count == 1)
    #expect(codes.filter { $0 == .invalidArgument }.count == 5)
  }
}
