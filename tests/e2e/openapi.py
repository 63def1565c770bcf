"""A server whose responses are compared with its own description.

DescribedServer is a Server that fails when an answer's status, type, or any key of its JSON is not in openapi.json.
"""

import json
import os
import re

from framezero import Server

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "api", "openapi.json")
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
# Statuses before the route is known, or on any route.
ANYWHERE = {400, 405, 500}


class Description:
    def __init__(self, path=PATH):
        with open(path, encoding="utf-8") as f:
            self.root = json.load(f)
        # Literal segments are tried before parameters, as the server does.
        self.paths = sorted(self.root["paths"].items(), key=lambda item: item[0].count("{"))

    def resolve(self, node):
        while "$ref" in node:
            target = self.root
            for name in node["$ref"].split("/")[1:]:
                target = target[name]
            node = target
        return node

    def operation(self, method, path):
        if not path.startswith("/api/v1/"):  # third-party clients add slashes, and a DSN may have a path
            path = "/" + "/".join(part for part in path.split("/") if part)
            path = re.sub(r"^.+(?=/api/[^/]+/(envelope|store|minidump)$)", "", path)
        for pattern, methods in self.paths:
            if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern)), path):
                return methods.get(method.lower())
        return None

    def validate(self, schema, value, where="$"):
        """The first fault as a text; None if the value is valid. Keys without a description are faults."""
        schema = self.resolve(schema)
        if "oneOf" in schema:
            faults = [self.validate(s, value, where) for s in schema["oneOf"]]
            return None if None in faults else faults[0]
        kind = schema.get("type")
        if kind and (not isinstance(value, KINDS[kind]) or (kind != "boolean" and isinstance(value, bool))):
            return f"{where}: {value!r} is not of type {kind}"
        if "const" in schema and value != schema["const"]:
            return f"{where}: {value!r} is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where}: {value!r} is not one of {schema['enum']}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{where}: {value!r} is not like {schema['pattern']}"
        if kind == "object" and "properties" in schema:
            return self.validate_object(schema, value, where)
        if kind == "array":
            faults = (self.validate(schema["items"], v, f"{where}[{i}]") for i, v in enumerate(value))
            return next((f for f in faults if f), None)
        return None

    def validate_object(self, schema, value, where):
        for name in schema.get("required", []):
            if name not in value:
                return f"{where}: no {name}"
        for name, inner in value.items():
            described = schema["properties"].get(name, schema.get("additionalProperties"))
            if described is None:
                return f"{where}.{name} is not described"
            fault = self.validate(described, inner, f"{where}.{name}")
            if fault:
                return fault
        return None

    def check(self, method, path, status, content_type, answer):
        path = path.partition("?")[0]
        operation = self.operation(method, path)
        if operation is None:
            return None if status in (404, 405) else f"{method} {path}: {status}, but it is not described"
        response = operation["responses"].get(str(status))
        if response is None:
            return None if status in ANYWHERE else f"{method} {path}: status {status} is not described"
        content = self.resolve(response).get("content", {})
        if not content:
            return None if not answer else f"{method} {path}: {status} has a body, but none is described"
        media = content.get(content_type.partition(";")[0])
        if media is None:
            return f"{method} {path}: {content_type} is not among {list(content)}"
        if isinstance(answer, bytes):
            return None
        fault = self.validate(media["schema"], answer)
        return fault and f"{method} {path}: {status}: {fault}"


class DescribedServer(Server):
    description = Description()

    def request(self, method, path, *args, **options):
        status, answer = super().request(method, path, *args, **options)
        content_type = self.last_headers.get("Content-Type", "")
        fault = self.description.check(method, path, status, content_type, answer)
        if fault:
            raise AssertionError(fault)
        return status, answer
