"""OTLP requests by hand, in both encodings, from one description.

A span is a dict in the form of OTLP's JSON with Python's values as attributes; `as_json()` and
`as_protobuf()` write a request of them. Only what the tests need is known here.
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


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value) if value else b""


def chunk(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def wire_value(value):
    if value is None:
        return b""
    if isinstance(value, bool):
        return varint(2 << 3) + varint(value)
    if isinstance(value, str):
        return chunk(1, value)
    if isinstance(value, int):
        return varint(3 << 3) + varint(value)
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return chunk(7, value)
    if isinstance(value, dict):
        return chunk(6, wire_attributes(1, value))
    return chunk(5, b"".join(chunk(1, wire_value(item)) for item in value))


def wire_attributes(field, attributes):
    pairs = attributes.items()
    return b"".join(chunk(field, chunk(1, key) + chunk(2, wire_value(v))) for key, v in pairs)


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


def wire_span(span):
    events = b"".join(
        chunk(11, fixed64(1, e["timeUnixNano"]) + chunk(2, e["name"]) + wire_attributes(3, e["attributes"]))
        for e in span["events"]
    )
    status = span["status"]
    return (
        chunk(1, bytes.fromhex(span["traceId"]))
        + chunk(2, bytes.fromhex(span["spanId"]))
        + (chunk(4, bytes.fromhex(span["parentSpanId"])) if span["parentSpanId"] else b"")
        + chunk(5, span["name"])
        + number(6, span["kind"])
        + fixed64(7, span["startTimeUnixNano"])
        + fixed64(8, span["endTimeUnixNano"])
        + wire_attributes(9, span["attributes"])
        + events
        + b"".join(
            chunk(13, chunk(1, bytes.fromhex(link["traceId"])) + chunk(2, bytes.fromhex(link["spanId"])))
            for link in span.get("links", [])
        )
        + chunk(15, chunk(2, status.get("message", "")) + number(3, status.get("code", 0)))
    )


def wire_log(log):
    return (
        fixed64(1, log["timeUnixNano"])
        + number(2, log["severityNumber"])
        + chunk(3, log["severityText"])
        + chunk(5, wire_value(log["body"]))
        + wire_attributes(6, log["attributes"])
        + (chunk(9, bytes.fromhex(log["traceId"])) if log["traceId"] else b"")
        + (chunk(10, bytes.fromhex(log["spanId"])) if log["spanId"] else b"")
        + (chunk(12, log["eventName"]) if "eventName" in log else b"")
    )


def plain_value(value):
    """What an AnyValue in JSON holds."""
    ((kind, inner),) = value.items() or [("", None)]
    if kind == "kvlistValue":
        return plain_attributes(inner["values"])
    if kind == "arrayValue":
        return [plain_value(item) for item in inner.get("values", [])]
    return int(inner) if kind == "intValue" else inner


def plain_attributes(pairs):
    return {pair["key"]: plain_value(pair["value"]) for pair in pairs}


def wire_point(point):
    return (
        fixed64(2, int(point.get("startTimeUnixNano", 0)))
        + fixed64(3, int(point.get("timeUnixNano", 0)))
        + (varint(4 << 3 | 1) + struct.pack("<d", point["asDouble"]) if "asDouble" in point else b"")
        + wire_attributes(7, plain_attributes(point.get("attributes", [])))
    )


METRIC_FIELDS = {"gauge": 5, "sum": 7, "histogram": 9, "exponentialHistogram": 10, "summary": 11}


def wire_metric(metric):
    """Of its points what a number has."""
    return chunk(1, metric["name"]) + b"".join(
        chunk(field, b"".join(chunk(1, wire_point(point)) for point in metric[kind]["dataPoints"]))
        for kind, field in METRIC_FIELDS.items()
        if kind in metric
    )


def wire_body(body):
    """A request in protobuf, of one of metrics or log records as JSON."""
    out = b""
    for resource in body.get("resourceMetrics", []) + body.get("resourceLogs", []):
        attributes = plain_attributes(resource["resource"]["attributes"])
        for scope in resource.get("scopeMetrics", []) + resource.get("scopeLogs", []):
            logs = [
                wire_log({"severityText": "", "severityNumber": 0, "traceId": "", "spanId": "", **each,
                          "timeUnixNano": int(each["timeUnixNano"]), "body": plain_value(each["body"]),
                          "attributes": plain_attributes(each["attributes"])})
                for each in scope.get("logRecords", [])
            ]  # fmt: skip
            records = logs or [wire_metric(each) for each in scope["metrics"]]
            group = chunk(1, chunk(1, scope["scope"]["name"])) + b"".join(chunk(2, r) for r in records)
            out += chunk(1, chunk(1, wire_attributes(1, attributes)) + chunk(2, group))
    return out


class Protobuf:
    media = "application/x-protobuf"

    @staticmethod
    def _request(records, write, resource, scope):
        group = chunk(1, chunk(1, scope)) + b"".join(chunk(2, write(record)) for record in records)
        return chunk(1, chunk(1, wire_attributes(1, resource)) + chunk(2, group))

    @classmethod
    def spans(cls, spans, resource, scope="tests"):
        return cls._request(spans, wire_span, resource, scope)

    @classmethod
    def logs(cls, logs, resource, scope="tests"):
        return cls._request(logs, wire_log, resource, scope)

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
        whole = {"resource": {"attributes": json_attributes(resource)}, middle: [group]}
        return json.dumps({outer: [whole]}).encode()

    @classmethod
    def spans(cls, spans, resource, scope="tests"):
        return cls._request(spans, ("resourceSpans", "scopeSpans", "spans"), resource, scope)

    @classmethod
    def logs(cls, logs, resource, scope="tests"):
        return cls._request(logs, ("resourceLogs", "scopeLogs", "logRecords"), resource, scope)

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
