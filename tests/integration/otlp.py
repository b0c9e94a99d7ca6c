"""OTLP requests by hand, in both encodings, from one description.

A span is a dict in the form of OTLP's JSON with Python's values as attributes; `Json` writes a request
of them, and `Protobuf` the same request by the table of fields. Only what the tests need is known here.
"""

import base64
import json
import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def chunk(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def integer(field, value):
    return varint(field << 3) + varint(int(value))


def fixed(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", int(value))


def real(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def digits(field, value):
    return chunk(field, bytes.fromhex(value))


def octets(field, value):
    return chunk(field, base64.b64decode(value))


METRIC_FIELDS = {"gauge": 5, "sum": 7, "histogram": 9, "exponentialHistogram": 10, "summary": 11}
# Of each message by its name in JSON: the field's number, and what it is.
MESSAGES = {
    "request": {f"resource{of}": (1, "resources") for of in ("Spans", "Logs", "Metrics")},
    "resources": {"resource": (1, "resource"),
                  **{f"scope{of}": (2, "scopes") for of in ("Spans", "Logs", "Metrics")}},
    "resource": {"attributes": (1, "pair")},
    "scopes": {"scope": (1, "scope"), "spans": (2, "span"), "logRecords": (2, "log"), "metrics": (2, "metric")},
    "scope": {"name": (1, chunk)},
    "pair": {"key": (1, chunk), "value": (2, "value")},
    "value": {"stringValue": (1, chunk), "boolValue": (2, integer), "intValue": (3, integer),
              "doubleValue": (4, real), "arrayValue": (5, "array"), "kvlistValue": (6, "map"),
              "bytesValue": (7, octets)},
    "array": {"values": (1, "value")},
    "map": {"values": (1, "pair")},
    "span": {"traceId": (1, digits), "spanId": (2, digits), "parentSpanId": (4, digits), "name": (5, chunk),
             "kind": (6, integer), "startTimeUnixNano": (7, fixed), "endTimeUnixNano": (8, fixed),
             "attributes": (9, "pair"), "events": (11, "event"), "links": (13, "link"), "status": (15, "status")},
    "event": {"timeUnixNano": (1, fixed), "name": (2, chunk), "attributes": (3, "pair")},
    "link": {"traceId": (1, digits), "spanId": (2, digits)},
    "status": {"message": (2, chunk), "code": (3, integer)},
    "log": {"timeUnixNano": (1, fixed), "severityNumber": (2, integer), "severityText": (3, chunk),
            "body": (5, "value"), "attributes": (6, "pair"), "traceId": (9, digits), "spanId": (10, digits),
            "eventName": (12, chunk)},
    "metric": {"name": (1, chunk), **{kind: (field, "points") for kind, field in METRIC_FIELDS.items()}},
    "points": {"dataPoints": (1, "point")},
    "point": {"startTimeUnixNano": (2, fixed), "timeUnixNano": (3, fixed), "asDouble": (4, real),
              "attributes": (7, "pair")},
}  # fmt: skip


def wire_body(body, message="request"):
    """A message in protobuf, of the same in JSON."""
    parts, fields = [], MESSAGES[message]
    for name, value in body.items():
        number, kind = fields.get(name, (None, None))
        for each in (value if isinstance(value, list) else [value]) if number else ():
            parts.append(kind(number, each) if callable(kind) else chunk(number, wire_body(each, kind)))
    return b"".join(parts)


def json_value(value):
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": json_attributes(value)}}
    return {"arrayValue": {"values": [json_value(item) for item in value]}}


def json_attributes(attributes):
    return [{"key": key, "value": json_value(value)} for key, value in attributes.items()]


def span(trace, number, parent=None, start=0, end=1, **more):
    """Times are in seconds after a fixed moment; ids may be given as any hexadecimal digits."""
    moment = 1_750_000_000
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span {number}",
        "kind": 1,
        "startTimeUnixNano": int((moment + start) * 1_000_000_000) if start is not None else 0,
        "endTimeUnixNano": int((moment + end) * 1_000_000_000) if end is not None else 0,
        "attributes": {},
        "events": [],
        "status": {},
        **more,
    }


def log(trace, number=0, **more):
    moment = 1_750_000_000
    return {
        "traceId": trace,
        "spanId": f"{number:016x}" if number else "",
        "timeUnixNano": moment * 1_000_000_000,
        "severityNumber": 9,
        "severityText": "INFO",
        "body": "something happened",
        "attributes": {},
        **more,
    }


class Protobuf:
    media = "application/x-protobuf"

    @staticmethod
    def spans(*what):
        return wire_body(Json.request_of_spans(*what))

    @staticmethod
    def logs(*what):
        return wire_body(Json.request_of_logs(*what))

    @staticmethod
    def body(body):
        return wire_body(body)

    @staticmethod
    def fields(message):
        """{number: [values]} of a message; nothing nested is read."""
        at, found = 0, {}

        def take():
            nonlocal at
            value = shift = 0
            while True:
                byte = message[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return value

        while at < len(message):
            tag = take()
            if tag & 7 == 2:
                size = take()
                value = message[at : at + size]
                at += size
            else:
                assert tag & 7 == 0
                value = take()
            found.setdefault(tag >> 3, []).append(value)
        return found

    @classmethod
    def partial(cls, answer):
        """(rejected, message), or None when all was stored."""
        outer = cls.fields(answer.body)
        if not outer:
            return None
        inner = cls.fields(outer[1][0])
        return inner[1][0], inner[2][0].decode()

    @classmethod
    def status(cls, answer):
        """(code, message) of an error."""
        fields = cls.fields(answer.body)
        return fields[1][0], fields[2][0].decode()


class Json:
    media = "application/json"

    @staticmethod
    def _plain(record):
        plain = {**record, "attributes": json_attributes(record["attributes"])}
        for name in ("timeUnixNano", "startTimeUnixNano", "endTimeUnixNano"):
            if name in plain:
                plain[name] = str(plain[name])
        if "events" in plain:
            plain["events"] = [Json._plain(event) for event in plain["events"]]
        if "body" in plain:
            plain["body"] = json_value(plain["body"])
        return plain

    @classmethod
    def _request(cls, records, names, resource, scope):
        outer, middle, inner = names
        group = {"scope": {"name": scope}, inner: [cls._plain(record) for record in records]}
        return {outer: [{"resource": {"attributes": json_attributes(resource)}, middle: [group]}]}

    @classmethod
    def request_of_spans(cls, spans, resource, scope="tests"):
        return cls._request(spans, ("resourceSpans", "scopeSpans", "spans"), resource, scope)

    @classmethod
    def request_of_logs(cls, logs, resource, scope="tests"):
        return cls._request(logs, ("resourceLogs", "scopeLogs", "logRecords"), resource, scope)

    @classmethod
    def spans(cls, *what):
        return cls.body(cls.request_of_spans(*what))

    @classmethod
    def logs(cls, *what):
        return cls.body(cls.request_of_logs(*what))

    @staticmethod
    def body(body):
        return json.dumps(body).encode()

    @staticmethod
    def partial(answer):
        told = answer.json().get("partialSuccess")
        if told is None:
            return None
        (rejected,) = (told[name] for name in told if name.startswith("rejected"))
        return int(rejected), told["errorMessage"]

    @staticmethod
    def status(answer):
        return answer.json()["code"], answer.json()["message"]
