"""Decodes a body of OTLP with the messages of the OpenTelemetry project for Python, and prints its spans as JSON.

    python decode.py -- FILE
"""

import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def unknown(message):
    """Whether the message, or one inside it, has fields that OTLP does not know."""
    decoded = type(message).FromString(message.SerializeToString())
    decoded.DiscardUnknownFields()
    return decoded.ByteSize() != message.ByteSize()


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def main():
    with open(sys.argv[-1], "rb") as file:
        request = ExportTraceServiceRequest.FromString(file.read())
    assert not unknown(request), "there are fields that OTLP does not know"
    spans = []
    for resource in request.resource_spans:
        service = {attribute.key: value(attribute.value) for attribute in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert span.start_time_unix_nano <= span.end_time_unix_nano, "a span ends before it begins"
                spans.append({
                    "service": service["service.name"],
                    "scope": scope.scope.name,
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "status": span.status.code,
                    "attributes": {attribute.key: value(attribute.value) for attribute in span.attributes},
                    "events": [event.name for event in span.events],
                    "links": [link.trace_id.hex() for link in span.links],
                })
    print(json.dumps(spans))


main()
