"""The API's methods as those of a client, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import grpc
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

if TYPE_CHECKING:
    from .client import Client

Fields = ParamSpec("Fields")
Answer = TypeVar("Answer", bound=Message)

#: By their names, which are unique: "BeginEvaluation" and so on.
METHODS = {
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
    if name in METHODS
}


class Method(Generic[Fields, Answer]):
    """A method of the API, as a method of `Client` whose keyword arguments are the request's fields."""

    def __init__(self, request: Callable[Fields, Message], answer: type[Answer]):
        self.request, self.answer = request, answer

    def __set_name__(self, owner: type, name: str) -> None:
        method = METHODS["".join(word.capitalize() for word in name.split("_"))]
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
    def __get__(self, client: None, owner: type) -> Method[Fields, Answer]: ...
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


class Watch(Method[Fields, Answer]):
    """A method that answers a stream, which has no end and so no deadline."""

    @overload  # type: ignore[override]
    def __get__(self, client: None, owner: type) -> Watch[Fields, Answer]: ...
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
