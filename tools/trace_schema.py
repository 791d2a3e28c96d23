"""Print the JSON Schema of a trace: `python tools/trace_schema.py > docs/trace.schema.json`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from atlaskit.runs.events import KINDS
from atlaskit.runs.trace import TRACE_VERSION, adapter


def schema() -> dict[str, Any]:
    """Return the JSON Schema of one event, which is a line of a trace."""
    adapters = [(kind, "validation", adapter(kind)) for kind in KINDS]
    references, definitions = TypeAdapter.json_schemas(adapters, schema_generator=_UntitledFields)  # type: ignore[arg-type]
    for kind, event in KINDS.items():
        fields = definitions["$defs"][event.__name__]
        fields["properties"] = {"kind": {"const": kind}, **fields["properties"]}
        fields["required"] = ["kind", *fields.get("required", ())]
    header = {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": f"An event of an atlaskit trace, v{TRACE_VERSION}",
    }
    return {**header, "oneOf": list(references.values()), **definitions}


class _UntitledFields(GenerateJsonSchema):
    """Leaves out titles that only repeat the name of a field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
