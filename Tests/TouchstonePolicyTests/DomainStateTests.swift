import Testing
import TouchstonePolicy

@Suite struct DomainStateTests {
  @Test(
    "R22: the verdict, in its order",
    arguments: cases(
      """
      # phone | baseline | device => verdict
      9.3                 | set           | 0  => same
      9.3 state=B         | set           | 0  => changed
      9.3 no-state        | set           | 0  => changed
      9.3                 | set no-base   | 0  => never
      9.3 no-state        | set no-base   | 0  => never
      # Locked and silent comes before all else; locked and given is compared.
      9.3 no-state locked | set           | 0  => unknown
      9.3 no-state        | set           | 5! => unknown
      9.3 no-state locked | set           | 5! => unknown
      9.3 no-state locked | set no-base   | 0  => unknown
      9.3 locked          | set           | 5! => same
      9.3 state=B locked  | set           | 5! => changed
      9.3 locked          | set no-base   | 5! => never
      # Failures alone do not excuse silence.
      9.3 no-state        | set           | 4  => changed
      # The major version: only a rise, and only beside a difference.
      10.0                | set           | 0  => same
      10.0 state=B        | set           | 0  => changed-os
      10.0 no-state       | set           | 0  => changed-os
      9.4 state=B         | set           | 0  => changed
      8.4 state=B         | set           | 0  => changed
      iOS-? state=B       | set           | 0  => changed
      10.0 state=B        | set base=A@10 | 0  => changed
      11.0 state=B        | set base=A@10 | 0  => changed-os
      10.0 state=B        | set base=A@0  | 0  => changed
      android-14 state=B  | set base=A@13 | 0  => changed-os
      # Opaque bytes: every one of them counts.
      9.3 state=AA        | set           | 0  => changed
      9.3 state=a         | set           | 0  => changed
      """))
  func verdict(_ row: Case) {
    let verdict = DomainStateVerdict.compare(
      baseline: BindingStanding(table: row.given[1])!.baseline, posture: DevicePosture(table: row.given[0]),
      device: BiometryStanding(table: row.given[2]))
    #expect(verdict == DomainStateVerdict(table: row.expected[0]))
  }

  @Test("R23: a finger added and removed again is unchanged: the verdict has no memory")
  func resultNotHistory() {
    let baseline = DomainStateBaseline.recorded(from: DevicePosture(table: "9.3 state=A"))
    func verdict(_ phone: String) -> DomainStateVerdict {
      .compare(baseline: baseline, posture: DevicePosture(table: phone), device: BiometryStanding())
    }
    #expect(verdict("9.3 state=A") == .unchanged)
    #expect(verdict("9.3 state=AB") == .changed)
    #expect(verdict("9.3 state=A") == .unchanged)
  }

  @Test("R24: the baseline is what the device gave, and never empty")
  func baseline() {
    #expect(
      DomainStateBaseline.recorded(from: DevicePosture(table: "9.3 state=A"))
        == DomainStateBaseline(domainState: [UInt8]("A".utf8), osMajorVersion: 9))
    #expect(DomainStateBaseline.recorded(from: DevicePosture(table: "9.3 no-state")) == nil)
    #expect(DomainStateBaseline.recorded(from: DevicePosture(table: "9.3 no-state locked")) == nil)
    #expect(DomainStateBaseline.recorded(from: DevicePosture(table: "android state=A"))?.osMajorVersion == 0)
  }

  @Test("R22: an OS that was not known at binding is never said to have risen")
  func unknownOSAtBinding() {
    let baseline = DomainStateBaseline.recorded(from: DevicePosture(table: "android state=A"))
    let verdict = DomainStateVerdict.compare(
      baseline: baseline, posture: DevicePosture(table: "android-14 state=B"), device: BiometryStanding())
    #expect(verdict == .changed)
  }
}
