"""Holds recorded answers against an OpenAPI 3.1 document.

An exchange is what tests/integration/muster.py records: method, path, status, headers, body.
"""

import base64
import functools
import json
import re

import jsonschema
from jsonschema.validators import extend

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
NO_BODY = (204, 304)
DECLARED_HEADERS = (
    "ETag", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After",
    "WWW-Authenticate", "Set-Cookie", "Content-Disposition", "X-Config-Missing",
)  # fmt: skip
ERROR = {
    "type": "object",
    "required": ["detail"],
    "properties": {"detail": {"type": ["string", "array"]}},
}


# Strings that no schema tells apart: identifiers and moments of these forms.
UUID = re.compile(r'"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"')
MOMENT = re.compile(r'"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9](:[0-5][0-9]){2}(\.[0-9]{6})?Z"')


def form_of(text):
    """Equal for JSON texts that are judged alike."""
    return MOMENT.sub('"a moment"', UUID.sub('"an id"', text))


class Judged:
    """Forms of values that a schema was seen to allow: lists repeat themselves."""

    def __init__(self):
        self.good = {}
        self.single = set()  # the same for single values, with their schemas

    def single_problems(self, schema, value, judge):
        kind = kind_of(schema, value)
        if kind is not None and (id(schema), kind) in self.single:
            return
        found = list(judge())
        if kind is not None and not found:
            self.single.add((id(schema), kind))
        yield from found

    def problems(self, schema, text, judge):
        known = self.good.setdefault(id(schema), set())
        form = form_of(text)
        if form in known:
            return
        found = list(judge())
        if not found:
            known.add(form)
        yield from found


ABOUT = {"type", "description", "title", "examples", "deprecated"}  # of which the type alone is judged


def kind_of(schema, value):
    """Equal for single values that this schema judges alike; None for values with parts."""
    if isinstance(value, (dict, list)):
        return None
    if isinstance(schema, dict) and schema.keys() <= ABOUT:
        return type(value), isinstance(value, float) and value.is_integer()
    return type(value), value


def body_of(exchange):
    body = exchange["body"]
    return base64.b64decode(body["base64"]) if "base64" in body else body["text"].encode()


def pattern_of(template):
    """A regular expression for a path template; `{slug}` stands for one segment."""
    parts = re.split(r"(\{[^}]+\})", template)
    return re.compile("".join("[^/]+" if p.startswith("{") else re.escape(p) for p in parts))


class Contract:
    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver("", document)
        self.judged = Judged()
        self.validator = extend(jsonschema.Draft202012Validator, {
            "items": self.item_errors, "properties": self.property_errors,
        })  # fmt: skip
        # The most literal template first: /agents/config is not an {agent_name}.
        templates = sorted(document["paths"], key=lambda path: (path.count("{"), path))
        self.routes = [(pattern_of(path), path) for path in templates]

    @functools.cached_property
    def operations(self):
        """Every (METHOD, template) that is declared."""
        return {
            (method.upper(), path)
            for path, item in self.document["paths"].items()
            for method in item
            if method in METHODS
        }

    def operation_of(self, exchange):
        """(METHOD, template) of an exchange; the template is None where no path matches."""
        for pattern, path in self.routes:
            if pattern.fullmatch(exchange["path"]):
                method = exchange["method"].upper()
                if method == "HEAD" and "head" not in self.document["paths"][path]:
                    method = "GET"
                return method, path
        return exchange["method"].upper(), None

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            _, node = self.resolver.resolve(node["$ref"])
        return node

    def item_errors(self, validator, schema, values, _parent):
        """The keyword "items", with a memory."""
        if not validator.is_type(values, "array"):
            return
        for number, value in enumerate(values):

            def judge(number=number, value=value):
                return validator.descend(value, schema, path=number)

            yield from self.judged.problems(schema, json.dumps(value), judge)

    def property_errors(self, validator, properties, values, _parent):
        """The keyword "properties", with a memory: most of what is judged are single values."""
        if not validator.is_type(values, "object"):
            return
        for name in properties.keys() & values.keys():
            schema, value = properties[name], values[name]

            def judge(name=name, schema=schema, value=value):
                return validator.descend(value, schema, path=name, schema_path=name)

            yield from self.judged.single_problems(schema, value, judge)

    def schema_problems(self, schema, value):
        validator = self.validator(schema, resolver=self.resolver)
        for error in validator.iter_errors(value):
            where = "/".join(str(step) for step in error.absolute_path) or "the body"
            yield f"{where}: {error.message[:300]}"

    def problems(self, exchange):
        """What is wrong with one exchange: sentences, none when it conforms."""
        method, path = self.operation_of(exchange)
        headers = {name.lower(): value for name, value in exchange["headers"]}
        if path is None and not exchange["path"].startswith("/api/"):
            return []  # the portal's own files are not part of the API
        found = [] if headers.get("x-request-id") else ["no X-Request-Id"]
        if (method, path) in self.operations:
            item = self.document["paths"][path]
            found += self.declared_problems(item[method.lower()], exchange, headers)
        else:
            found += self.undeclared_problems(path, exchange, headers)
        return found

    def undeclared_problems(self, path, exchange, headers):
        """No such path: 404. No such method on it: 405 that names those there are."""
        if exchange["method"] == "OPTIONS" and "access-control-allow-origin" in headers:
            return  # a browser asks whether another site may call it
        expected = 404 if path is None else 405
        if exchange["status"] != expected:
            yield f"no declared operation, so {expected} was expected"
            return
        if expected == 405 and not headers.get("allow"):
            yield "405 without Allow"
        if exchange["method"].upper() != "HEAD":
            yield from self.json_problems(ERROR, body_of(exchange))

    def declared_problems(self, operation, exchange, headers):
        responses = operation["responses"]
        response = responses.get(str(exchange["status"]), responses.get("default"))
        if response is None:
            yield f"status {exchange['status']} is not declared: only {', '.join(responses)}"
            return
        response = self.resolve(response)
        for name, header in response.get("headers", {}).items():
            if self.resolve(header).get("required") and name.lower() not in headers:
                yield f"no {name}, which is declared as required"
        for name in DECLARED_HEADERS:
            if name.lower() in headers and name not in response.get("headers", {}):
                yield f"{name}, which is not declared"
        yield from self.content_problems(response.get("content", {}), exchange, headers)

    def content_problems(self, content, exchange, headers):
        body = body_of(exchange)
        if exchange["method"].upper() == "HEAD" or exchange["status"] in NO_BODY:
            if body:
                yield "a body where none may be"
            return
        if not content:
            if body:
                yield "a body, but none is declared"
            return
        media_type = headers.get("content-type", "").split(";")[0].strip()
        if media_type not in content:
            yield f"Content-Type '{media_type}' is not declared: only {', '.join(content)}"
        elif media_type.endswith("ndjson"):
            for line in body.splitlines():
                yield from self.json_problems(content[media_type].get("schema", {}), line)
        elif media_type.endswith("json"):
            yield from self.json_problems(content[media_type].get("schema", {}), body)

    def json_problems(self, schema, body):
        text = body.decode(errors="replace")
        return self.judged.problems(schema, text, lambda: self.text_problems(schema, body))

    def text_problems(self, schema, body):
        try:
            value = json.loads(body)
        except ValueError as error:
            yield f"the body is no JSON: {error}"
            return
        yield from self.schema_problems(schema, value)

    def unreached(self, exchanges):
        """Declared operations that no exchange used with success."""
        reached = {self.operation_of(e) for e in exchanges if e["status"] < 400}
        return sorted(self.operations - reached)


def exchanges_in(folder):
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
