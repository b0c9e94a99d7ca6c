// How numbers, durations and times are formatted, what the axes of charts show, and how routes are
// matched: without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./bundle.mjs";

const format = await load("format.ts");
const scale = await load("scale.ts");
globalThis.location = { hash: "" };
globalThis.history = {};
globalThis.addEventListener = () => {};
const route = await load("route.ts");
const ranges = await load("ranges.ts");

const DURATIONS = [
    [0, "0 ms"],
    [999, "999 ms"],
    [1000, "1.0 s"],
    [9_949, "9.9 s"],
    [12_400, "12 s"],
    [65_000, "1 m 05 s"],
    [3_599_400, "59 m 59 s"],
    [7_800_000, "2 h 10 m"],
    [273_600_000, "3 d 4 h"],
    [-1500, "−1.5 s"],
];

test("durations have two units at most", () => {
    for (const [ms, text] of DURATIONS) assert.equal(format.duration(ms), text);
});

const TIMES = [
    [0, "just now"],
    [9_000, "just now"],
    [59_000, "59 s ago"],
    [60_000, "1 min ago"],
    [3_599_000, "59 min ago"],
    [86_399_000, "23 h ago"],
    [86_400_000 * 3, "3 d ago"],
    [86_400_000 * 90, "3 mo ago"],
    [-120_000, "in 2 min"],
];

test("times are relative to now", () => {
    for (const [ago, text] of TIMES) assert.equal(format.relative(1e12 - ago, 1e12), text);
});

test("a deadline is overdue once it has passed", () => {
    assert.equal(format.untilDue(1e12 + 7_200_000, 1e12), "in 2 h");
    assert.equal(format.untilDue(1e12, 1e12), "just now");
    assert.equal(format.untilDue(1e12 - 3_000, 1e12), "overdue by 3 s");
    assert.equal(format.untilDue(1e12 - 7_200_000, 1e12), "overdue by 2 h");
});

const VALUES = [
    [1234, "count", "1,234"],
    [1234567, "count", "1.23M"],
    [0.1234, "count", "0.123"],
    [93.4, "percent", "93.4 %"],
    [312.5, "duration", "5 m 13 s"],
    [12.5, "money:EUR", "€12.50"],
    [0.000641, "money:USD", "$0.000641"],
    [0.1, "money:USD", "$0.10"],
    [482311.5, "money:EUR", "€482K"],
    [1_310_000, "money:EUR", "€1.31M"],
    [1.7e308, "count", "1.7E308"],
    [-1.7e308, "money:EUR", "-€1.7E308"],
    [1e-300, "money:EUR", "€1E-300"],
    [1e-300, "count", "1E-300"],
    [-2.5e-10, "money:USD", "-$2.5E-10"],
    [5, "money:beans", "5 beans"],
    [7, "boxes", "7 boxes"],
    ["calm", "count", "calm"],
    [null, "count", "–"],
    [7, null, "7"],
];

test("values are formatted in their unit, whatever it is", () => {
    for (const [value, unit, text] of VALUES) assert.equal(format.inUnit(value, unit), text);
});

const UNIT_COSTS = [
    [1.94, "count", "$1.94 each"],
    [0.00372, null, "$3.72 per 1,000"],
    [0.00000677, "money:EUR", "$6.77 per €1 M"],
    [0.5, "money:EUR", "$0.50 per €1"],
    [0.5, "money:beans", "$0.50 each"],
];

test("a cost per unit is per as many units as cost a cent", () => {
    for (const [spent, unit, text] of UNIT_COSTS)
        assert.equal(format.costPerUnit(spent, unit), text);
});

test("a change needs two numbers and a divisor other than zero", () => {
    assert.equal(format.change(100, 112), 0.12);
    assert.equal(format.change(-100, -50), 0.5);
    for (const [from, to] of [
        [0, 5],
        [null, 5],
        [5, null],
        ["a", 5],
    ])
        assert.equal(format.change(from, to), null);
});

const PATHS = [
    ["/t/:slug/runs", "/t/acme/runs", { slug: "acme" }],
    ["/t/:slug/agents/:name", "/t/acme/agents/a%2Fb%20c", { slug: "acme", name: "a/b c" }],
    ["/t/:slug/agents/:name", "/t/acme/agents/100%", { slug: "acme", name: "100%" }],
    ["/t/:slug/runs", "/t//runs", null],
    ["/t/:slug/runs", "/t/acme/runs/x", null],
    ["/t/:slug/runs", "/t/acme/cost", null],
];

test("paths match their templates segment by segment", () => {
    for (const [template, path, values] of PATHS)
        assert.deepEqual(route.match(template, path), values);
    assert.equal(
        route.href(route.pathOf("t", "a/b", "runs"), { q: "x y", none: null }),
        "#/t/a%2Fb/runs?q=x+y",
    );
});

const RANGES = [
    [91.2, 91.3, (low, high) => low === 0 && high > 91.3],
    [-123.5, -123.5, (low, high) => low < -123.5 && high === 0],
    [-5, 10, (low, high) => low < -5 && high > 10],
    [0, 0, (low, high) => low === 0 && high === 1],
    [null, null, (low, high) => low === 0 && high === 1],
];

test("zero is always on the axis, and all values are", () => {
    for (const [low, high, fits] of RANGES)
        assert.ok(fits(...scale.valueRange(low, high)), `${low} to ${high}`);
});

test("negative values are stacked downwards, and the hugest can be summed", () => {
    assert.deepEqual(scale.stacked([[1, -1], [2, -3], [-4, 5]]), [[1, -1], [3, -4], [-4, 5]]);
    const huge = [1.7e308, -1.7e308];
    const divisor = scale.divisorOf([huge]);
    const drawn = huge.map((value) => value / divisor);
    assert.ok(scale.valueRange(drawn[1], drawn[0]).every((end) => Math.abs(end) < 100));
    assert.equal(scale.divisorOf([[12, -5]]), 1);
});

const hours = (n, from = Date.UTC(2026, 10, 9, 7) / 1000) =>
    Array.from({ length: n }, (_, i) => from + i * 3600);
const AXES = [
    ["a week of hours", hours(168), 12, "hour"],
    ["a day of hours", hours(24), 12, "hour"],
    ["two hours", hours(2), 12, "hour"],
    ["one hour", hours(1), 12, "hour"],
    ["90 days", hours(90).map((_, i) => 1_700_000_000 - (1_700_000_000 % 86_400) + i * 86_400), 7, "day"],
    ["narrow", hours(168), 2, "hour"],
];

test("no label is repeated on an axis of time, and each is at a period", () => {
    for (const [name, times, most, bucket] of AXES) {
        const ticks = scale.timeTicks(times, most, bucket);
        const labels = ticks.map(scale.timeLabel(times, bucket));
        assert.ok(ticks.length > 0 && ticks.length <= most, `${name}: ${labels}`);
        assert.equal(new Set(labels).size, labels.length, `${name}: ${labels}`);
        assert.ok(ticks.every((tick) => times.includes(tick)), name);
    }
    assert.deepEqual(scale.distinct(["0 ms", "0 ms", "1 ms"]), ["0 ms", "", "1 ms"]);
});

test("days are labelled in UTC, as the service counts them, and hours name their zone", () => {
    const days = [0, 1, 2].map((n) => Date.UTC(2026, 10, 9 + n) / 1000);
    assert.equal(scale.timeLabel(days, "day")(days[0]), "9 Nov");
    assert.equal(scale.periodLabel("day")(days[0]), "9 Nov 2026");
    assert.match(scale.periodLabel("hour")(hours(5)[0]), /^9 Nov 2026, \d\d:\d\d \S+/);
    const apart = hours(49).filter((_, i) => i % 24 === 0);
    for (const times of [hours(1), apart.slice(0, 2)])
        assert.match(scale.timeLabel(times, "hour")(times[0]), /^\d\d:\d\d/, `${times.length} hours`);
});

test("a period is as long as its bucket, also when it is the only one", () => {
    const [first] = hours(1);
    assert.equal(scale.stepOf([first], "hour"), 3600);
    assert.equal(scale.stepOf([first, first + 7200], "hour"), 7200, "one that is missing between");
    const february = Date.UTC(2026, 1) / 1000;
    assert.equal(scale.endOf(february, "month"), Date.UTC(2026, 2) / 1000);
});

test("each name keeps its colour while the others change their order", () => {
    const names = ["small", "large", "house", "mini", "opus", "flash", "pro"];
    const slots = scale.slotsOf(names, 7);
    assert.equal(new Set(slots.values()).size, 7);
    assert.equal(scale.slotsOf([...names, "eighth"], 7).get("pro"), slots.get("pro"));
});

test("short labels of ids differ", () => {
    const ids = [
        "invoices-2026-11-16T17:15-0a1b2c",
        "invoices-2026-11-16T17:20-0a1b2c",
        "nightly",
        "nightly-import-0001-of-the-warehouse",
        "nightly-import-0002-of-the-warehouse",
    ];
    assert.deepEqual([...format.briefIds(ids)], [
        [ids[0], "invoices…16T17:15-0a1b2c"],
        [ids[1], "invoices…16T17:20-0a1b2c"],
        [ids[2], "nightly"],
        [ids[3], ids[3]], // its ends do not tell it from the next
        [ids[4], ids[4]],
    ]);
});

test("a mark stays at its periods when a live chart gets new ones and loses old ones", () => {
    const markOf = (times, from, at, bucket = "hour") => scale.markOf(times, from, at, bucket);
    const hours = (first, n) => Array.from({ length: n }, (_, i) => (first + i) * 3600);
    assert.deepEqual(markOf(hours(0, 5), 3600, 3 * 3600), { first: 1, last: 3, at: 3 });
    assert.deepEqual(markOf(hours(1, 5), 3600, 3 * 3600), { first: 0, last: 2, at: 2 });
    assert.deepEqual(markOf(hours(1, 5), 3 * 3600, 3600), { first: 0, last: 2, at: 0 });
    assert.deepEqual(markOf(hours(3, 5), 3600, 3 * 3600), { first: 0, last: 0, at: 0 });
    assert.equal(markOf(hours(4, 5), 3600, 3 * 3600), null, "all of it is gone");
    assert.equal(markOf(hours(0, 2), 2 * 3600, 3 * 3600), null, "another time was chosen");
    assert.equal(markOf([], 0, 0), null);
    const days = [0, 86_400];
    assert.deepEqual(markOf(days, 3600, 86_400 + 3600, "day"), { first: 0, last: 1, at: 1 });
});

const NOON = "2026-03-04T12:00:00Z";
/** Range, the first and the last period, their length; is the first a part, the last, is it not over? */
const EDGES = [
    ["7d", "2026-02-25", "2026-03-04", "day", "first unfinished"],
    ["7d", "2026-02-26", "2026-03-03", "day", ""],
    ["24h", "2026-03-03T12:00Z", "2026-03-04T12:00Z", "hour", "unfinished"],
    ["today", "2026-03-04", "2026-03-04", "day", "unfinished"],
    ["this_month", "2026-03-01", "2026-03-04", "day", "unfinished"],
    ["this_month", "2026-03-01", "2026-03-01", "month", "unfinished"],
    ["last_month", "2026-02-01", "2026-02-28", "day", ""],
    ["last_month", "2026-01-26", "2026-02-23", "week", "first last"],
    ["2026-02-02T00:00Z/2026-02-04T00:00Z", "2026-02-02", "2026-02-03", "day", ""],
    ["2026-02-02T06:00Z/2026-02-04T06:00Z", "2026-02-02", "2026-02-04", "day", "first last"],
    ["2026-03-04T00:00Z/2026-03-04T11:30Z", "2026-03-04T00:00Z", "2026-03-04T11:00Z", "hour", "last"],
    ["2026-03-03T00:00Z/2026-03-09T00:00Z", "2026-03-03", "2026-03-04", "day", "unfinished"],
    ["30d", "2026-02-23", "2026-03-02", "week", "unfinished"],
    ["30d", "2026-02-09", "2026-02-23", "week", ""],
];

test("what is said of the outer periods of a chart names those that it is about", () => {
    const words = (parts, periods = 3) =>
        ranges.edgesInWords(Object.fromEntries(parts.split(" ").map((name) => [name, true])), periods);
    assert.equal(words(""), null);
    assert.equal(words("first"), "first counted in part");
    assert.equal(words("last"), "last counted in part");
    assert.equal(words("first last"), "first and last counted in part");
    assert.equal(words("unfinished"), "last not over yet");
    assert.equal(words("first unfinished"), "first counted in part, last not over yet");
    assert.equal(words("", 1), null);
    assert.equal(words("first last", 1), "counted in part");
    assert.equal(words("first unfinished", 1), "not over yet");
});

/** As EDGES, and since when anything was counted. */
const COUNTED = [
    ["7d", "2026-02-27", "2026-03-04", "2026-02-27T08:00Z", "first unfinished"],
    ["7d", "2026-02-27", "2026-03-04", "2026-02-27", "unfinished"],
    ["7d", "2026-02-25", "2026-03-04", "2026-02-25T01:00Z", "first unfinished"],
    ["last_month", "2026-02-20", "2026-02-28", "2026-02-20T00:00:01Z", "first"],
];

test("a chart of the newest runs only begins with the period of which a part was counted", () => {
    for (const [range, first, last, since, parts] of COUNTED) {
        const times = [first, last].map((text) => Date.parse(text) / 1000);
        const edges = ranges.edgesOf(range, times, "day", Date.parse(NOON), since);
        const found = Object.keys(edges).filter((name) => edges[name]);
        assert.equal(found.join(" "), parts, `${range} since ${since}`);
    }
    const periods = ["2026-02-26", "2026-02-27", "2026-02-28"].map((day) => ({ t: `${day}T00:00:00Z` }));
    for (const [since, left] of [[null, 3], ["2026-02-26T23:59Z", 3], ["2026-02-27", 2], ["2026-02-28T05:00Z", 1]])
        assert.deepEqual(
            ranges.countedPeriods({ periods, bucket: "day", counted_since: since }),
            periods.slice(-left),
        );
});

test("the outer periods of a chart are whole, cut by the range, or not over", () => {
    for (const [range, first, last, bucket, parts] of EDGES) {
        const times = [first, last].map((text) => Date.parse(text) / 1000);
        const edges = ranges.edgesOf(range, times, bucket, Date.parse(NOON));
        const found = Object.keys(edges).filter((name) => edges[name]);
        assert.equal(found.join(" "), parts, `${range} ${first} ${last} ${bucket}`);
    }
});
