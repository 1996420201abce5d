"""A collector of spans: OTLP over gRPC, read by OpenTelemetry's own messages."""

import threading
import time
from concurrent import futures
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

#: Spans are sent once a second; this much only where the machine is very busy.
SPAN_SECONDS = 30


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """On a free port of this machine, or at the address that is given. Over TLS with a certificate."""

    def __init__(self, *, address="127.0.0.1:0", certificate=None, rejected=0):
        self._rejected = rejected
        self._changed = threading.Condition()
        self._exports = []
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        host = address.rpartition(":")[0]
        if certificate is None:
            port = self._server.add_insecure_port(address)
        else:
            pair = [(Path(certificate.key_file).read_bytes(), certificate.pem)]
            port = self._server.add_secure_port(address, grpc.ssl_server_credentials(pair))
        self.endpoint = f"{host}:{port}"
        self._server.start()

    def Export(self, request, context):
        with self._changed:
            self._exports.append(request)
            self._changed.notify_all()
        answer = trace_service_pb2.ExportTraceServiceResponse()
        if self._rejected:
            answer.partial_success.rejected_spans = self._rejected
        return answer

    @property
    def resources(self):
        """What sent the spans, each with its attributes."""
        return [attributes(each.resource) for export in self._exports for each in export.resource_spans]

    @property
    def spans(self):
        """All that came so far."""
        with self._changed:
            return [
                span
                for export in self._exports
                for resource in export.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]

    @property
    def text(self):
        """Everything that came, as one text and as bytes: where secrets are looked for."""
        with self._changed:
            return "".join(map(str, self._exports)), b"".join(each.SerializeToString() for each in self._exports)

    def wait_for(self, count, wanted=lambda span: True):
        """So many spans of a kind: waits for them."""
        end = time.monotonic() + SPAN_SECONDS
        while len(found := [span for span in self.spans if wanted(span)]) < count:
            with self._changed:
                self._changed.wait(timeout=0.1)
            assert time.monotonic() < end, f"{len(found)} spans, wanted {count}: {[span.name for span in self.spans]}"
        return found

    def close(self):
        self._server.stop(grace=None).wait()


def attributes(holder):
    """Of a span or a resource, by key."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in holder.attributes}
