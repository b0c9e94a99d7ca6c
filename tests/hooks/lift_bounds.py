#!/usr/bin/python3
"""Writes copies of our sources in which each promise about fair shares (A1 to A18) can be lifted.

    lift_bounds.py FOLDER    writes them there, each under the path that it has below src
    lift_bounds.py           only says which they are, one path of src per line

The program of these copies is `muster_unbounded`: LIFTED_BOUND=A3 makes it forget that promise alone.
tests/crash/test_controls.py shows that the tests of a promise notice it. A text that is no longer in
the source fails the build: whoever changes how a bound is kept changes its row here.
"""

import sys
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"


def lifted(name, otherwise):
    return f'(bound_is_lifted("{name}") ? {otherwise} : '


# promise: [(file, text, text with the bound lifted)]
LIFTS = {
    "A1": [  # bodies of callers without a key are kept, and counted in the room of all
        ("api/dispatch.c", "x->drops_body = call->route",
         'x->drops_body = !bound_is_lifted("A1") && call->route'),
        ("api/dispatch.c", "if (route->auth == AUTH_OPEN)",
         'if (route->auth == AUTH_OPEN && !bound_is_lifted("A1"))'),
        ("app/budgets.c", "b->open_level.max[kind] = OPEN_BODIES;",
         f'b->open_level.max[kind] = {lifted("A1", "0")}OPEN_BODIES);'),
        ("app/budgets.c", "b->address_level.max[kind] = OPEN_BODIES_PER_ADDRESS;",
         f'b->address_level.max[kind] = {lifted("A1", "0")}OPEN_BODIES_PER_ADDRESS);'),
    ],
    "A2": [  # a tenant may hold what all may hold
        ("app/budgets.c", "b->tenant_level.max[kind] = tenant;",
         f'b->tenant_level.max[kind] = {lifted("A2", "settings->inflight_max_bytes")}tenant);'),
        ("app/budgets.c", "b->key_level.max[kind] = key_share(tenant);",
         f'b->key_level.max[kind] = {lifted("A2", "0")}key_share(tenant));'),
    ],
    "A3": [  # an unfinished body has all the time there is, and keeps its room
        ("http/connection.c", "return c->body_began_us +",
         f'return c->body_began_us + {lifted("A3", "INT64_C(3600) * USEC_PER_SEC")}0) +'),
        ("http/charge.c", "    if (most != NULL && most != mine &&",
         '    if (bound_is_lifted("A3"))\n        return false;\n'
         "    if (most != NULL && most != mine &&"),
    ],
    "A4": [  # replies that nobody reads take seven times as much
        ("app/budgets.c", "larger(settings->reply_max_bytes, API_REPLY_MAX);",
         f'{lifted("A4", "448 << 20")}larger(settings->reply_max_bytes, API_REPLY_MAX));'),
        ("app/budgets.c", "larger(tenant, API_REPLY_MAX);",
         f'{lifted("A4", "448 << 20")}larger(tenant, API_REPLY_MAX));'),
        ("app/budgets.c", "larger(key_share(tenant), API_REPLY_MAX);",
         f'{lifted("A4", "448 << 20")}larger(key_share(tenant), API_REPLY_MAX));'),
    ],
    "A5": [  # a narrative and a list of runs are read whole
        ("features/events/run_routes.c", ".bytes = PAGE_BYTES - RUN_ROOM,",
         f'.bytes = {lifted("A5", "1 << 30")}PAGE_BYTES - RUN_ROOM),'),
        ("features/events/run_routes.c", ".bytes = PAGE_BYTES,",
         f'.bytes = {lifted("A5", "1 << 30")}PAGE_BYTES),'),
    ],
    "A6": [  # jobs are done in order of arrival
        ("engine/job_queue.c", "share_of(job->budget)", f'{lifted("A6", "NULL")}share_of(job->budget))'),
    ],
    "A7": [  # the write-ahead log has no ceiling
        ("app/assemble.c", ".log_max_bytes = settings->wal_max_bytes,",
         f'.log_max_bytes = {lifted("A7", "0")}settings->wal_max_bytes),'),
    ],
    "A8": [  # neither a floor of free space nor a quota; old alerts, empty totals and repeated entries stay
        ("engine/space.c", "set_low(s, free_bytes <",
         'set_low(s, !bound_is_lifted("A8") && free_bytes <'),
        ("features/agents/report.c", "return tenant_is_over_quota(",
         'return !bound_is_lifted("A8") && tenant_is_over_quota('),
        ("features/alerts/closed.c", "next, CLOSED_MAX,",
         f'next, {lifted("A8", "INT64_MAX")}CLOSED_MAX),'),
        ("features/agents/config/config_routes.c", "return found;",
         'return found && !bound_is_lifted("A8");'),
        ("features/access/hooks.c", "rate_take(window, TENANT_CHANGES_MAX,",
         f'rate_take(window, {lifted("A8", "1000000")}TENANT_CHANGES_MAX),'),
        ("features/kpis/report_store.c", "if (rows->n_values == 0 && rows->n_breakdowns == 0)",
         'if (rows->n_values == 0 && rows->n_breakdowns == 0 && !bound_is_lifted("A8"))'),
        ("features/kpis/rollups.c", "list->items[i]->stored.n > 0 ?",
         '(bound_is_lifted("A8") || list->items[i]->stored.n > 0) ?'),
    ],
    "A9": [  # a key rotates as often as it likes
        ("features/access/key_routes.c", "if (rotations.n < max)",
         'if (bound_is_lifted("A9") || rotations.n < max)'),
    ],
    "A10": [  # a revoked key leaves its exports and its successors
        ("features/access/auth.c", "return key_is_good(",
         'return bound_is_lifted("A10") || key_is_good('),
        ("features/access/keys.c", "if (revocation->descent ?",
         'if (revocation->descent && !bound_is_lifted("A10") ?'),
    ],
    "A11": [  # an address is taken as it is spelled, and a client's own line is believed
        ("base/address.c", "if (IN6_IS_ADDR_V4MAPPED(v6))",
         'if (IN6_IS_ADDR_V4MAPPED(v6) && !bound_is_lifted("A11"))'),
    ],
    "A12": [  # an address has any number of connections
        ("app/budgets.c", "= settings->max_connections_per_address;",
         f'= {lifted("A12", "0")}settings->max_connections_per_address);'),
    ],
    "A13": [  # health is good whatever is wrong
        ("features/status/feature.c", "const char *problem = engine_problem(",
         f'const char *problem = {lifted("A13", "NULL")}engine_problem('),
        ("features/status/feature.c", "engine_problem(call->api->engine);",
         "engine_problem(call->api->engine));"),
    ],
    "A14": [  # whatever a row has become, it is believed
        ("db/row_sum.c", "return finish(&a) == db_get_int(row, first + n);",
         'return bound_is_lifted("A14") || finish(&a) == db_get_int(row, first + n);'),
    ],
    "A15": [  # a check prints the first problem of each kind
        ("features/retention/backup_commands.c", "for (size_t i = 0; i < found->n; i++)",
         f'for (size_t i = 0; i < {lifted("A15", "found->n > 0")}found->n); i++)'),
    ],
    "A16": [  # what a body has more is ignored
        ("shape/check.c", "for (size_t i = 0; i < n; i++) {\n        const struct path_step here = { .up = at, "
         ".name = json_str(name) };\n        bool known = false;",
         'for (size_t i = 0; i < n && !bound_is_lifted("A16"); i++) {\n        const struct path_step here = '
         "{ .up = at, .name = json_str(name) };\n        bool known = false;"),
    ],
    "A17": [  # a report does not say what it replaced
        ("features/kpis/report_store.c", "*ret_replaced = p.replaced;",
         f'*ret_replaced = {lifted("A17", "0")}p.replaced);'),
        ("features/cost/reports.c", ".replaced = llm->replaced,",
         '.replaced = !bound_is_lifted("A17") && llm->replaced,'),
    ],
    "A18": [  # a deleted tenant is only hidden
        ("features/retention/expiry_store.c", "(int64_t before), (db_int(before)),",
         '(int64_t before), (db_int(bound_is_lifted("A18") ? INT64_MIN : before)),'),
    ],
}  # fmt: skip


def sources():
    return sorted({file for rows in LIFTS.values() for file, _, _ in rows})


def copy_of(file):
    """The source with all its bounds made liftable; an empty line keeps the numbers of the rest."""
    text = (SRC / file).read_text()
    for name, rows in LIFTS.items():
        for at, old, new in rows:
            if at == file:
                if old not in text:
                    sys.exit(f"lift_bounds.py: {name}: src/{file} no longer has: {old}")
                text = text.replace(old, new)
    return f'#include "hooks/bound.h"\n#line 1 "{SRC / file}"\n{text}'


def main():
    if len(sys.argv) == 1:
        print("\n".join(sources()))
        return
    for file in sources():
        to = Path(sys.argv[1]) / file
        to.parent.mkdir(parents=True, exist_ok=True)
        text = copy_of(file)
        if not to.exists() or to.read_text() != text:
            to.write_text(text)


if __name__ == "__main__":
    main()
