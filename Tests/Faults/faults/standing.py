"""What must be known of a customer, and what may be known after a call that was not answered."""

from collections import Counter
from dataclasses import dataclass, field

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from support.caller import Caller
from support.stubs import administration_pb2, bindings_pb2, secrets_pb2, types_pb2

from .calls import has_passed

#: So many failures in a row lock a device's biometrics (R7), or a passcode for a minute (R13).
LOCKING_FAILURES = 5

#: One for each effect. What is refused leaves events of other kinds, as often as it is tried.
EFFECTS = {
    "binding.created",
    "binding.revoked",
    "evaluation.failed",
    "evaluation.invalidated",
    "evaluation.locked_out",
    "evaluation.succeeded",
    "secret.set",
    "secret.unlocked",
    "settings.changed",
    "token.consumed",
    "token.revoked",
}


@dataclass(frozen=True)
class Standing:
    """Of one profile and its device."""

    is_bound: bool = False
    #: Of the device; only seen while it is bound.
    failures: int = 0
    passcode_failures: int = 0
    preferred: int = types_pb2.FACTOR_UNSPECIFIED

    @property
    def is_locked(self):
        return self.failures >= LOCKING_FAILURES

    @property
    def is_passcode_locked(self):
        return self.passcode_failures >= LOCKING_FAILURES


@dataclass
class Doubt:
    """A call that was sent and not answered, or refused because it came too late."""

    #: The events' kinds of which one says that it was done.
    kinds: list[str]
    #: Done.
    after: Standing
    #: Not done, but begun: a passcode's attempt is counted before it is verified (R14), without an event.
    counted: Standing | None = None
    #: Not done, as what it rests on expired meanwhile, but begun, and its verdict settled all the same.
    settled: Standing | None = None
    #: When what it rests on expires.
    until: Timestamp | None = None
    #: What is to be remembered once it was done; takes the answer, if there is one.
    learn: object = None
    #: Sends the same again; true where that did it, false where it had been done. `None`: it would count again.
    retry: object = None

    def refuse(self):
        """It was answered: it came too late, and leaves at most that its verdict was settled."""
        self.settled = self.after if self.counted else None
        self.kinds, self.counted, self.retry = [], None, None

    def cut_off(self):
        """Nobody will say whether it came too late: by now it may have."""
        if self.counted and self.until and has_passed(self.until):
            self.settled = self.after


@dataclass
class Observation:
    """What the service says of a profile."""

    events: Counter = field(default_factory=Counter)
    standing: Standing = field(default_factory=Standing)
    #: The active one.
    binding: bindings_pb2.Binding | None = None

    @classmethod
    def of(cls, caller: Caller, profile_id):
        events = Counter(event.kind for event in _events(caller, profile_id))
        try:
            profile = caller.get_profile(profile_id)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            return cls()
        active = [each for each in profile.bindings if each.state == bindings_pb2.BINDING_STATE_ACTIVE]
        assert len(active) <= 1, active
        failures = 0
        if active:
            [device] = [each for each in profile.devices if each.device_id == active[0].device_id]
            failures = device.biometry_failures
            assert device.biometry_locked_out == (failures >= LOCKING_FAILURES), device
        passcodes = [each for each in profile.secrets if each.kind == secrets_pb2.SECRET_KIND_PASSCODE]
        standing = Standing(
            is_bound=bool(active),
            failures=failures,
            passcode_failures=passcodes[0].failures if passcodes else 0,
            preferred=profile.settings.preferred,
        )
        for each in passcodes:
            assert each.HasField("locked_until") or each.failures < LOCKING_FAILURES, each
        effects = Counter({kind: count for kind, count in events.items() if kind in EFFECTS})
        return cls(effects, standing, active[0] if active else None)


def _events(caller, profile_id):
    return caller.list_events(
        administration_pb2.EventFilter(application_id=caller.application_id, profile_id=profile_id)
    )
