"""Usage and its cost, the slow and obvious way: every report by itself, in exact fractions."""

import re
from datetime import datetime, timezone
from fractions import Fraction
from functools import cache

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "calls")
EVER = datetime.min.replace(tzinfo=timezone.utc)


@cache
def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def decimal(dollars):
    """Rounded to picodollars, half to even; two decimals at least."""
    units = round(dollars * 10**12)
    sign, digits = ("-" if units < 0 else ""), str(abs(units)).rjust(13, "0")
    fraction = digits[-12:].rstrip("0").ljust(2, "0")
    return f"{sign}{digits[:-12]}.{fraction}"


def clamp(number):
    return max(-(2**63), min(2**63 - 1, number))


class Book:
    def __init__(self, prices):
        self.prices = prices

    def named(self, name):
        exact = [p for p in self.prices if p["model"] == name]
        owner = {p["model"] for p in self.prices if name in p.get("aliases", [])}
        return exact or [p for p in self.prices if p["model"] in owner]

    def history(self, name):
        plain = re.sub(r"\[[^\[]*\]$", "", name)
        dateless = re.sub(r"[-@](\d{4}-\d\d-\d\d|\d{8})$", "", plain)
        for begin in (name, plain, dateless):
            parts = begin.split("/")
            for i in range(len(parts)):
                found = self.named("/".join(parts[i:]))
                if found:
                    return found
        return []

    def at(self, name, when):
        """The price of a model in force at a moment, or None."""

        def since(price):
            return moment(price["valid_from"]) if price.get("valid_from") else EVER

        fit = [p for p in self.history(name) if since(p) <= when]
        return max(fit, key=since) if fit else None


@cache
def per_token(per_million):
    return Fraction(per_million) / 10**6


def cost(report, price):
    def rate(name):
        text = price.get(name)
        return per_token(str(price["input"] if text is None else text))

    fresh, output, read, write = (report[name] for name in TOKENS[:4])
    says = report.get("input_includes_cache") is not None
    if not says and price.get("input_includes_cache") and fresh >= read + write:
        fresh -= read + write
    return (fresh * rate("input") + output * rate("output") + read * rate("cache_read")
            + write * rate("cache_write"))  # fmt: skip


def sums(reports, book):
    told = {name: clamp(sum(r[name] for r in reports)) for name in TOKENS}
    prices = [book.at(r["model"], moment(r["timestamp"])) for r in reports]
    priced = [cost(r, p) for r, p in zip(reports, prices) if p]
    told["cost"] = decimal(sum(priced)) if priced or not reports else None
    told["partial"] = bool(priced) and len(priced) < len(reports)
    return told, (sum(priced) if priced else None)


def key_of(report, by):
    names = {"model": report["model"], "agent": report["agent_name"],
             "run": report["run_id"], "day": report["timestamp"][:10]}  # fmt: skip
    return {
        ("agent_name" if n == "agent" else "run_id" if n == "run" else n): names[n]
        for n in ("model", "agent", "run", "day") if n in by
    }  # fmt: skip


def apart(report):
    """The report with the cached tokens out of its input, if it says that they are in it."""
    cached = report["cache_read_tokens"] + report["cache_write_tokens"]
    if report.get("input_includes_cache") and report["input_tokens"] >= cached:
        return {**report, "input_tokens": clamp(report["input_tokens"] - cached)}
    return report


def usage(reports, prices, since, until, by):
    """What llm/usage answers for the range, of reports that are each the last of its identity."""
    book = Book(prices)
    inside = [apart(r) for r in reports if moment(since) <= moment(r["timestamp"]) < moment(until)]
    groups = {}
    for report in inside:
        key = key_of(report, by)
        groups.setdefault(tuple(key.items()), []).append(report)
    rows = []
    for key, members in groups.items():
        told, exact = sums(members, book)
        names = dict(key)
        order = (names.get("day", ""), exact is None, -(exact or 0),
                 *(names.get(n, "").encode() for n in ("model", "agent_name", "run_id")))  # fmt: skip
        rows.append((order, {**names, **told}))
    unpriced = {r["model"] for r in inside if not book.at(r["model"], moment(r["timestamp"]))}
    return {
        "since": since, "until": until, "currency": "USD",
        "groups": [row for _, row in sorted(rows, key=lambda row: row[0])],
        "total": sums(inside, book)[0],
        "unpriced": sorted(unpriced, key=str.encode),
        "truncated": False,
    }  # fmt: skip
