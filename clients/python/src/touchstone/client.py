"""The API's methods, over a gRPC channel."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

import grpc
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message

from .errors import Error
from .v1 import administration_pb2 as administration
from .v1 import administration_pb2_grpc as administration_grpc
from .v1 import bindings_pb2 as bindings
from .v1 import bindings_pb2_grpc as bindings_grpc
from .v1 import evaluation_pb2 as evaluation
from .v1 import evaluation_pb2_grpc as evaluation_grpc
from .v1 import secrets_pb2 as secrets
from .v1 import secrets_pb2_grpc as secrets_grpc
from .v1 import tokens_pb2 as tokens
from .v1 import tokens_pb2_grpc as tokens_grpc

Fields = ParamSpec("Fields")
Answer = TypeVar("Answer", bound=Message)

#: By their names, which are unique: "BeginEvaluation" and so on.
_METHODS = {
    method.name: method
    for module in (administration, bindings, evaluation, secrets, tokens)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}

#: The comments of the .proto files, by the methods' names.
_COMMENTS = {
    name: documented.__doc__ or ""
    for module in (administration_grpc, bindings_grpc, evaluation_grpc, secrets_grpc, tokens_grpc)
    for servicer in vars(module).values()
    if isinstance(servicer, type) and servicer.__name__.endswith("Servicer")
    for name, documented in vars(servicer).items()
    if name in _METHODS
}


class _Method(Generic[Fields, Answer]):
    """A method of the API, as a method of `Client` whose keyword arguments are the request's fields."""

    def __init__(self, request: Callable[Fields, Message], answer: type[Answer]):
        self.request, self.answer = request, answer

    def __set_name__(self, owner: type, name: str) -> None:
        method = _METHODS["".join(word.capitalize() for word in name.split("_"))]
        self.name, self.__doc__ = name, _COMMENTS[method.name]
        self.path = f"/{method.containing_service.full_name}/{method.name}"
        self.has_application = "application_id" in method.input_type.fields_by_name
        # `begin` of an explanation, and the `filter` of events.
        self.nested_applications = [
            (field.name, field.message_type._concrete_class)
            for field in method.input_type.fields
            if field.message_type and "application_id" in field.message_type.fields_by_name
        ]

    @overload
    def __get__(self, client: None, owner: type) -> _Method[Fields, Answer]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[Fields, Answer]: ...
    def __get__(self, client: Client | None, owner: type) -> Any:
        if client is None:
            return self

        def method(**fields: Any) -> Any:
            return self.call(client, self.filled(client, fields))

        method.__name__, method.__doc__ = self.name, self.__doc__
        return method

    def filled(self, client: Client, fields: dict[str, Any]) -> Message:
        if client.application_id:
            if self.has_application:
                fields.setdefault("application_id", client.application_id)
            for name, message in self.nested_applications:
                given = fields.get(name) or {}
                nested = message(**given) if isinstance(given, dict) else given
                if not nested.application_id:
                    fields[name] = message(application_id=client.application_id)
                    fields[name].MergeFrom(nested)
        return self.request(**fields)  # type: ignore[call-arg]

    def call(self, client: Client, request: Message) -> Any:
        method = client._channel.unary_unary(self.path, type(request).SerializeToString, self.answer.FromString)
        try:
            return method(request, timeout=client.timeout, metadata=client._metadata())
        except grpc.RpcError as error:
            raise Error.of(error) from error


class _Watch(_Method[Fields, Answer]):
    """A method that answers a stream, which has no end and so no deadline."""

    @overload  # type: ignore[override]
    def __get__(self, client: None, owner: type) -> _Watch[Fields, Answer]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[Fields, Stream[Answer]]: ...
    def __get__(self, client: Client | None, owner: type) -> Any:
        return super().__get__(client, owner)

    def call(self, client: Client, request: Message) -> Any:
        method = client._channel.unary_stream(self.path, type(request).SerializeToString, self.answer.FromString)
        return Stream(method(request, metadata=client._metadata()))


class Stream(Iterator[Answer]):
    """Answers as they come. Cancel it when you no longer read it; `with` does so."""

    def __init__(self, call: Any):
        self._call = call

    def __next__(self) -> Answer:
        try:
            return next(self._call)  # type: ignore[no-any-return]
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.CANCELLED:
                raise StopIteration from None
            raise Error.of(error) from error

    def cancel(self) -> None:
        self._call.cancel()

    def __enter__(self) -> Stream[Answer]:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Client:
    """Calls a service. Threads may share it.

    Each method takes the fields of its request by name; a message may be a dictionary, and a value of an enumeration its name. It
    returns the answer's message, and raises `Error` if there is none.
    """

    begin_binding = _Method(bindings.BeginBindingRequest, bindings.BeginBindingResponse)
    complete_binding = _Method(bindings.CompleteBindingRequest, bindings.CompleteBindingResponse)
    get_binding = _Method(bindings.GetBindingRequest, bindings.GetBindingResponse)
    list_bindings = _Method(bindings.ListBindingsRequest, bindings.ListBindingsResponse)
    revoke_binding = _Method(bindings.RevokeBindingRequest, bindings.RevokeBindingResponse)
    accept_domain_state = _Method(bindings.AcceptDomainStateRequest, bindings.AcceptDomainStateResponse)

    can_evaluate_policy = _Method(evaluation.CanEvaluatePolicyRequest, evaluation.CanEvaluatePolicyResponse)
    begin_evaluation = _Method(evaluation.BeginEvaluationRequest, evaluation.BeginEvaluationResponse)
    submit_attempt = _Method(evaluation.SubmitAttemptRequest, evaluation.SubmitAttemptResponse)
    invalidate_evaluation = _Method(evaluation.InvalidateEvaluationRequest, evaluation.InvalidateEvaluationResponse)

    set_secret = _Method(secrets.SetSecretRequest, secrets.SetSecretResponse)
    remove_secret = _Method(secrets.RemoveSecretRequest, secrets.RemoveSecretResponse)
    get_unlock_settings = _Method(secrets.GetUnlockSettingsRequest, secrets.GetUnlockSettingsResponse)
    set_unlock_settings = _Method(secrets.SetUnlockSettingsRequest, secrets.SetUnlockSettingsResponse)

    introspect_token = _Method(tokens.IntrospectTokenRequest, tokens.IntrospectTokenResponse)
    consume_token = _Method(tokens.ConsumeTokenRequest, tokens.ConsumeTokenResponse)
    revoke_token = _Method(tokens.RevokeTokenRequest, tokens.RevokeTokenResponse)
    get_signing_keys = _Method(tokens.GetSigningKeysRequest, tokens.GetSigningKeysResponse)

    get_profile = _Method(administration.GetProfileRequest, administration.GetProfileResponse)
    unlock_device = _Method(administration.UnlockDeviceRequest, administration.UnlockDeviceResponse)
    unlock_secret = _Method(administration.UnlockSecretRequest, administration.UnlockSecretResponse)
    erase_profile = _Method(administration.EraseProfileRequest, administration.EraseProfileResponse)
    list_events = _Method(administration.ListEventsRequest, administration.ListEventsResponse)
    watch_events = _Watch(administration.WatchEventsRequest, administration.WatchEventsResponse)
    explain_evaluation = _Method(administration.ExplainEvaluationRequest, administration.ExplainEvaluationResponse)

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
        for method in _METHODS.values()
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
