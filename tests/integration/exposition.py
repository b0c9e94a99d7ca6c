"""A strict reader of Prometheus' text format, version 0.0.4."""

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(
    rf"({NAME})(?:\{{((?:[a-zA-Z_]\w*=\"(?:[^\"\\\n]|\\[\\\"n])*\",?)*)\}})? (\S+)", re.ASCII
)
LABEL = re.compile(r"([a-zA-Z_]\w*)=\"((?:[^\"\\\n]|\\[\\\"n])*)\"", re.ASCII)
HEAD = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}


class Malformed(AssertionError):
    """The text is no exposition."""


@dataclass
class Family:
    name: str
    help: str = None
    type: str = None
    samples: dict = field(default_factory=dict)  # (name, labels) to a number


def demand(condition, why):
    if not condition:
        raise Malformed(why)


def labels_of(text):
    if not text:
        return ()
    found = LABEL.findall(text)
    demand(",".join(f'{k}="{v}"' for k, v in found) == text, f"labels: {text}")
    demand(len({k for k, _ in found}) == len(found), f"a label twice: {text}")
    return tuple(sorted(found))


def belongs(sample, family):
    suffixes = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
    return any(sample == family.name + suffix for suffix in suffixes)


def read(text):
    """Families by name. A family's lines stand together: HELP, TYPE, samples."""
    demand(text.endswith("\n") and "\r" not in text, "the last line has no end")
    families, family = {}, None
    for line in text[:-1].split("\n"):
        head = HEAD.fullmatch(line)
        if head and head[1] == "HELP":
            demand(head[2] not in families, f"{head[2]} stands in two places")
            family = families[head[2]] = Family(head[2], help=head[3])
        elif head:
            demand(family and family.name == head[2] and not family.type, f"TYPE: {line}")
            demand(head[3] in TYPES, line)
            family.type = head[3]
        else:
            sample = SAMPLE.fullmatch(line)
            demand(sample, f"no sample: {line}")
            demand(family and family.type and belongs(sample[1], family), f"out of place: {line}")
            key = (sample[1], labels_of(sample[2]))
            demand(key not in family.samples, f"twice: {line}")
            family.samples[key] = float(sample[3])
    for family in families.values():
        check(family)
    return families


def check(family):
    if family.type == "counter":
        demand(family.name.endswith("_total"), f"{family.name}: a counter ends in _total")
        demand(all(value >= 0 for value in family.samples.values()), f"{family.name} < 0")
    if family.type == "histogram":
        check_histogram(family)


def check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            rest = tuple(label for label in labels if label[0] != "le")
            series.setdefault(rest, []).append((float(dict(labels)["le"]), value))
    demand(series, f"{family.name}: no buckets")
    for labels, buckets in series.items():
        demand(buckets == sorted(buckets), f"{family.name}: buckets out of order")
        counts = [count for _, count in buckets]
        demand(counts == sorted(counts), f"{family.name}: buckets do not add up")
        demand(buckets[-1][0] == float("inf"), f"{family.name}: no +Inf")
        count = family.samples.get((family.name + "_count", labels))
        demand(count == buckets[-1][1], f"{family.name}: count {count}")
        demand((family.name + "_sum", labels) in family.samples, f"{family.name}: no sum")


def value(families, name, **labels):
    """The sum of a family's samples that have these labels."""
    wanted = set(labels.items())
    return sum(
        number
        for family in families.values()
        for (sample, have), number in family.samples.items()
        if sample == name and wanted <= set(have)
    )
