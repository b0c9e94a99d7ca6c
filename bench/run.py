#!/usr/bin/python3
"""Measures and prints one table; scripts/bench builds first and calls this.

    run.py [NAME...]    all measures but `expensive`, `growth` and `postgres_disk`, or those named
    run.py --markdown   the table of the last run, for docs/measurements/benchmarks.md
    run.py --keep       makes the last results bench/baseline.json, which later runs are held against

KEEP=1 does that at the end of a run. FULL=1 uses 3,000,000 stored events, 1,000,000 business values and longer rounds. Writes build/bench/results.json,
and a line of build/bench/history.jsonl.
"""

import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict

import history
from common import Plan, Row
from measures import ALL, LONG
from servers import ROOT

RESULTS = ROOT / "build" / "bench" / "results.json"
QUICK = {"rounds": 3, "seconds": 4, "events": 200_000, "stored": 300_000,
         "postgres_events": 50_000, "business": 200_000,
         "usage_reports": 200_000}  # fmt: skip
FULL = {"rounds": 5, "seconds": 10, "events": 300_000, "stored": 3_000_000,
        "postgres_events": 200_000, "business": 1_000_000,
        "usage_reports": 1_000_000}  # fmt: skip


def number(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 or value == 0 else f"{value:.3g}"


def cells(row):
    ours, theirs = number(row["ours"]), number(row["theirs"])
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    verdict = "MISS" if not row["ok"] else "ok" if row["bar"] else ""
    return [row["measure"], f"{ours} {row['unit']}", theirs, ratio, row["bar"], verdict]


HEADINGS = ["measure", "ours", "theirs", "ratio", "bar", ""]
WIDTHS = [58, 20, 10, 6, 34, 4]


def line(parts):
    return "  ".join(part.ljust(width) for part, width in zip(parts, WIDTHS)).rstrip()


def markdown(results):
    rows = [cells(row) for row in results["rows"]]
    text = [f"{results['machine']}; {results['plan']}.", ""]
    text.append("| " + " | ".join(HEADINGS) + " |")
    text.append("|" + "---|" * len(HEADINGS))
    text += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(text)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = {row.split(":", 1)[1].strip() for row in file if row.startswith("model name")}
    model = ", ".join(models) or platform.machine()
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores ({model}), Linux {kernel}"


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], check=False,
                          capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip()


def rows_of(each, plan):
    """One measure that fails is missed; the others go on."""
    try:
        yield from each(plan)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"{each.__name__}: {error}", file=sys.stderr)
        yield Row(each.__name__, 0, "(failed)", "", False)


def measure(chosen, plan):
    rows = []
    print(line(HEADINGS), flush=True)
    try:
        for each in chosen:
            for row in rows_of(each, plan):
                rows.append(asdict(row))
                print(line(cells(rows[-1])), flush=True)
    finally:
        plan.clean_up()
    return rows


def main():
    names = sys.argv[1:]
    if names == ["--markdown"]:
        print(markdown(json.loads(RESULTS.read_text())))
        return 0
    if names == ["--keep"]:
        history.keep(json.loads(RESULTS.read_text()))
        return 0
    known = {each.__name__: each for each in ALL + LONG}
    if not set(names) <= set(known):
        sys.exit(f"{__doc__}\nThe measures: {', '.join(known)}")
    numbers = FULL if os.environ.get("FULL") else QUICK
    began, load = time.monotonic(), os.getloadavg()[0]
    rows = measure([known[name] for name in names] or ALL, Plan(**numbers))
    plan = ", ".join(f"{k.replace('_', ' ')} {v:,}" for k, v in numbers.items())
    results = {"machine": machine(), "commit": commit(), "plan": plan, "load_before": load,
               "seconds": round(time.monotonic() - began), "rows": rows}  # fmt: skip
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    history.note(results)
    missed = sum(not row["ok"] for row in rows)
    print(f"\n{len(rows)} rows, {missed} missed, {results['seconds']} s; {results['machine']}; "
          f"load before the start {load:.1f}")  # fmt: skip
    for sentence in history.changes(rows, history.load()):
        print(sentence)
    if os.environ.get("KEEP"):
        history.keep(results)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
