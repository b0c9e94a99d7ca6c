"""What an agent declares about itself when it registers. Plain names and dicts do as well."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Type, Union


@dataclass(frozen=True)
class KPI:
    """A business figure. `unit`: count, money:EUR, percent, duration. `agg`: how a period is
    totalled: sum, last, avg, max."""

    key: str
    label: str = ""
    unit: str = "count"
    agg: str = "sum"


@dataclass(frozen=True)
class Field:
    """An input or an output."""

    key: str
    type: str = "any"
    required: bool = True


@dataclass(frozen=True)
class Param:
    """A configuration parameter. `value_type`: string, integer, number, boolean, list, json."""

    key: str
    label: str = ""
    value_type: str = "string"
    required: bool = False
    help: str = ""
    default: str = ""
    choices: List[str] = field(default_factory=list)
    restart_required: bool = False


Declared = Union[str, Mapping[str, Any], KPI, Field, Param]


def as_json(what: str, kind: Type[Any], declared: Iterable[Declared]) -> List[Dict[str, Any]]:
    """Each declaration as the API wants it; a name alone gets the defaults of `kind`."""
    if isinstance(declared, (str, Mapping)):
        raise TypeError(f"{what}: expected a list, got {declared!r}")
    rows = []
    for each in declared:
        if isinstance(each, str):
            each = kind(each)
        if not isinstance(each, (Mapping, kind)):
            wanted = f"a name, a dict or muster.{kind.__name__}"
            raise TypeError(f"{what}: expected {wanted}, got {each!r}")
        row = dict(each) if isinstance(each, Mapping) else asdict(each)
        if "choices" in row:
            row["opciones"] = row.pop("choices")
        rows.append(row)
    return rows
