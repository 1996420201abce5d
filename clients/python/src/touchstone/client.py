"""A client over a gRPC channel."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import MethodOptions

from .calls import METHODS
from .methods import Methods


class Client(Methods):
    """Calls a service. Threads may share it.

    Each method takes the fields of its request by name; a message may be a dictionary, and a value of an enumeration its name. It
    returns the answer's message, and raises `Error` if there is none.
    """

    def __init__(
        self,
        target: str,
        *,
        application_id: str = "",
        credentials: Any = None,
        key: str = "",
        timeout: float = 10,
        languages: str = "",
        balancing: str = "",
        options: Sequence[tuple[str, Any]] = (),
        interceptors: Sequence[Any] = (),
    ):
        """Connects at the first call.

        - target: "host:port", "unix:path", or another name of gRPC's: "dns:///touchstone:7443" for all addresses of a name, and
          "ipv4:10.0.0.1:7443,10.0.0.2:7443" for a list.
        - application_id: for each request that has the field, or has it in `filter` or `begin`, and does not set it.
        - credentials: of `grpc.ssl_channel_credentials(roots, private_key, certificate_chain)`. Without them calls go in plaintext,
          which the service takes on its own machine alone.
        - key: the caller's, as `touchstone callers new-key` printed it. It is never sent to another machine in plaintext.
        - timeout: seconds from a call to its answer, with all retries.
        - languages: of texts for the person, as in Accept-Language: "zh-Hans, en;q=0.5".
        - balancing: gRPC's name of a way to share calls among the target's addresses: "round_robin" for replicas. Without it all calls
          go to one address that answers.
        - options: of the channel, in gRPC's words. Calls are repeated by a service configuration of the client's own, so
          "grpc.service_config" is refused. No HTTP proxy of the environment gets a call in plaintext, because it would get the key.
        - interceptors: of gRPC, which take each call: to count calls, or to send the header of a trace.
        """
        if key and credentials is None and not _is_local(target):
            raise ValueError(f"no key is sent to {target} in plaintext: give the client credentials")
        if any(name == "grpc.service_config" for name, _ in options):
            raise ValueError("the client has a service configuration of its own: use balancing, or grpc itself")
        _require_header("key", key)
        _require_header("languages", languages)
        self.application_id, self.timeout, self.languages, self._key = application_id, timeout, languages, key
        channel_options = [
            ("grpc.service_config", json.dumps(service_config(balancing))),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.primary_user_agent", "touchstone-client-python"),
            *([("grpc.enable_http_proxy", 0)] if credentials is None else []),
            *options,
        ]
        self._channel: Any = (
            grpc.insecure_channel(target, channel_options)
            if credentials is None
            else grpc.secure_channel(target, credentials, channel_options)
        )
        if interceptors:
            self._channel = grpc.intercept_channel(self._channel, *interceptors)

    def with_options(self, *, timeout: float | None = None, languages: str | None = None) -> Client:
        """A client on the same connection, for one request of a person in their language, for instance."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        _require_header("languages", languages or "")
        other.timeout = self.timeout if timeout is None else timeout
        other.languages = self.languages if languages is None else languages
        return other

    def close(self) -> None:
        """Ends running calls, also those of clients that share the connection."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _metadata(self) -> list[tuple[str, str]]:
        key = [("authorization", f"Bearer {self._key}")] if self._key else []
        return key + ([("accept-language", self.languages)] if self.languages else [])


def service_config(balancing: str = "") -> dict[str, Any]:
    """Returns how gRPC picks an address, and which calls it repeats (gRFC A6), by the promises of the .proto files.

    A call that ended with ABORTED had no effect. One that ended with UNAVAILABLE may have had one: it is repeated only if the method's
    `idempotency_level` allows that.
    """
    again = [
        {"service": method.containing_service.full_name, "method": method.name}
        for method in METHODS.values()
        if method.GetOptions().idempotency_level != MethodOptions.IDEMPOTENCY_UNKNOWN
    ]
    return {
        **({"loadBalancingConfig": [{balancing: {}}]} if balancing else {}),
        "methodConfig": [
            {"name": again, "retryPolicy": _retry("ABORTED", "UNAVAILABLE")},
            {"name": [{}], "retryPolicy": _retry("ABORTED")},
        ],
        # Fewer retries while most calls fail.
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
    }


def _retry(*codes: str) -> dict[str, Any]:
    return {
        "maxAttempts": 3,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": list(codes),
    }


def _require_header(name: str, value: str) -> None:
    """gRPC's own error of such a value quotes all metadata, and so the key."""
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"{name} has a line break or another character that no header has")


def _is_local(target: str) -> bool:
    """Only this machine's addresses: loopback, or a Unix socket."""
    scheme, separator, rest = target.partition(":")
    if separator and scheme in ("unix", "unix-abstract"):
        return True
    addresses = rest.lstrip("/") if separator and scheme in ("dns", "ipv4", "ipv6") else target
    return all(_is_loopback(address) for address in addresses.split(","))


def _is_loopback(address: str) -> bool:
    host = address[1:].partition("]")[0] if address.startswith("[") else address.rpartition(":")[0] or address
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
