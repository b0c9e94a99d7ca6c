"""Results over time: a history of all runs, and a baseline in the repository that runs are held against.

Absolute figures describe a machine, so only ratios are compared. The history is one JSON text per
line in build/bench/history.jsonl. `scripts/bench --keep` makes the last results the baseline.
"""

import json

from servers import ROOT

HISTORY = ROOT / "build" / "bench" / "history.jsonl"
BASELINE = ROOT / "bench" / "baseline.json"
SLACK = 0.1  # rounds of one build differ by as much


def note(results):
    HISTORY.parent.mkdir(parents=True, exist_ok=True)
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(results) + "\n")


def keep(results):
    """The ratios that have a bar, of measures that were taken; the others stay as they are."""
    ratios = load().get("ratios", {})
    for row in results["rows"]:
        if row["ratio"] is not None and row["bar"]:
            ratios[row["measure"]] = {"ratio": round(row["ratio"], 3), "bar": row["bar"]}
    kept = {"machine": results["machine"], "commit": results["commit"], "ratios": ratios}
    BASELINE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def load():
    return json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}


def changes(rows, baseline):
    """A sentence for each measure whose ratio is worse than the baseline's by more than SLACK."""
    for row in rows:
        before = baseline.get("ratios", {}).get(row["measure"])
        if before is None or row["ratio"] is None:
            continue
        change = row["ratio"] / before["ratio"]
        worse = change < 1 - SLACK if before["bar"].startswith(">") else change > 1 + SLACK
        if worse:
            yield f"worse: {row['measure']}: {row['ratio']:.2f}, was {before['ratio']:.2f}"
