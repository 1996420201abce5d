import Testing
import TouchstonePolicy

@Suite struct DomainStateTests {
  @Test(
    "R22: the verdict, in its order",
    arguments: cases(
      """
      # phone | baseline => verdict
      9.3                 | set           => same
      9.3 state=B         | set           => changed
      9.3 no-state        | set           => changed
      9.3                 | set no-base   => never
      9.3 no-state        | set no-base   => never
      # Locked and silent comes before all else; locked and given is compared.
      9.3 no-state locked | set           => unknown
      9.3 no-state locked | set no-base   => unknown
      9.3 locked          | set           => same
      9.3 state=B locked  | set           => changed
      9.3 locked          | set no-base   => never
      # The major version: only a rise, and only beside a difference.
      10.0                | set           => same
      10.0 state=B        | set           => changed-os
      10.0 no-state       | set           => changed-os
      9.4 state=B         | set           => changed
      8.4 state=B         | set           => changed
      10.0 state=B        | set base=A@10 => changed
      11.0 state=B        | set base=A@10 => changed-os
      10.0 state=B        | set base=A@0  => changed
      android-14 state=B  | set base=A@13 => changed-os
      # Opaque bytes: every one of them counts.
      9.3 state=AA        | set           => changed
      9.3 state=a         | set           => changed
      """))
  func verdict(_ row: Case) {
    let verdict = DomainStateVerdict.compare(
      baseline: BindingStanding(table: row.given[1])!.baseline, posture: DevicePosture(table: row.given[0]))
    #expect(verdict == DomainStateVerdict(table: row.expected[0]))
  }

  @Test("R23: a finger added and removed again is unchanged: the verdict has no memory")
  func resultNotHistory() {
    let baseline = DomainStateBaseline.recorded(from: DevicePosture(table: "9.3 state=A"))
    func verdict(_ phone: String) -> DomainStateVerdict {
      .compare(baseline: baseline, posture: DevicePosture(table: phone))
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
  }

  @Test("R22: an OS that was not known at binding is never said to have risen")
  func unknownOSAtBinding() {
    let baseline = DomainStateBaseline(domainState: [UInt8]("A".utf8), osMajorVersion: 0)
    let verdict = DomainStateVerdict.compare(
      baseline: baseline, posture: DevicePosture(table: "android-14 state=B"))
    #expect(verdict == .changed)
  }
}
