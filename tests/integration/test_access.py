"""Who may call what: one table of levels, one of operations, and everybody tries everything.

A new operation of docs/openapi.json must get a row in OPERATIONS; where a good request needs a
body or a query, also in BODIES or QUERIES.
"""

import json

import pytest
from conftest import running
from muster import ROOT
from people import PASSWORD, Person, add_user, log_in, platform_admin, tenant_person

NOBODY, UNKNOWN, OTHER_TENANT, OTHER_AGENT, OWN_AGENT, WORKSPACE, READ_ONLY = range(7)
STRANGER, MEMBER, ADMIN, PLATFORM, OPERATOR = range(7, 12)

# By columns: no token, an unknown one, the workspace key of another tenant, the keys of another
# agent, of the agent itself and of the workspace, and one that only reads; a person without a role
# in the tenant, a member, an admin, a platform admin; the operator (embedded store).
# 1: 401, 3: 403, +: let in, whatever the answer then is.
LEVELS = {
    "open":       "+ +  + + + + +  + + + +  +",
    "key":        "1 1  + + + + +  1 1 1 1  1",  # of any tenant, names no agent
    "sign":       "1 1  + + + + 3  1 1 1 1  1",  # the same, but a report
    "pull":       "1 1  + 3 + + +  1 1 1 1  1",  # of any tenant, names the agent
    "register":   "1 1  + 3 + + 3  1 1 1 1  1",  # the same, but a report
    "report":     "1 1  3 3 + + 3  1 1 1 1  1",  # names the tenant and the agent
    "ask":        "1 1  + 3 3 + +  1 1 1 1  1",  # of any tenant, reads that key's own
    "own_agent":  "1 1  3 3 + 3 3  1 1 1 1  1",
    "person":     "1 1  3 3 3 3 3  + + + +  1",
    "read":       "1 1  3 3 3 + +  3 + + +  +",
    "member":     "1 1  3 3 3 3 3  3 + + +  +",
    "admin":      "1 1  3 3 3 3 3  3 3 + +  +",
    "platform":   "1 1  3 3 3 3 3  3 3 3 +  +",
}  # fmt: skip

# Links are last: wrong ones count as failed sign-ins of their address.
OPERATIONS = """
    open      GET    /openapi.json
    open      GET    /api/v1/openapi.json
    open      GET    /api/v1/health
    open      GET    /livez
    open      GET    /api/v1/auth/setup
    open      POST   /api/v1/auth/setup
    open      POST   /api/v1/auth/login
    open      GET    /api/v1/auth/oidc
    open      POST   /api/v1/auth/oidc/begin
    open      POST   /api/v1/auth/oidc/complete

    key       GET    /api/v1/limits
    sign      POST   /api/v1/heartbeat
    key       POST   /api/v1/agents/refresh-key
    register  POST   /api/v1/agents/register
    register  POST   /v1/traces
    register  POST   /v1/logs
    sign      POST   /v1/metrics
    pull      GET    /api/v1/agents/model
    pull      GET    /api/v1/agents/command-policy
    pull      GET    /api/v1/agents/document
    own_agent GET    /api/v1/agents/config
    report    POST   /api/v1/telemetry
    report    POST   /api/v1/telemetry/batch
    report    POST   /api/v1/telemetry/business
    report    POST   /api/v1/telemetry/llm

    ask       POST   /mcp

    person    GET    /api/v1/auth/me
    person    POST   /api/v1/auth/password
    person    POST   /api/v1/auth/logout
    person    GET    /api/v1/auth/oidc/sign-out
    person    GET    /api/v1/auth/tokens
    person    POST   /api/v1/auth/tokens
    person    DELETE /api/v1/auth/tokens/{token_id}
    person    GET    /api/v1/auth/sessions
    person    DELETE /api/v1/auth/sessions
    person    DELETE /api/v1/auth/sessions/{session_id}
    person    GET    /api/v1/auth/second-factor
    person    POST   /api/v1/auth/second-factor
    person    POST   /api/v1/auth/second-factor/confirm
    person    POST   /api/v1/auth/second-factor/recovery-codes
    person    POST   /api/v1/auth/second-factor/remove

    read      GET    /api/v1/tenants/{slug}
    read      GET    /api/v1/tenants/{slug}/dashboard/runs
    read      GET    /api/v1/tenants/{slug}/dashboard/facets
    read      GET    /api/v1/tenants/{slug}/dashboard/totals
    read      GET    /api/v1/tenants/{slug}/runs/{run_id}/events
    read      GET    /api/v1/tenants/{slug}/runs/{run_id}/business
    read      GET    /api/v1/tenants/{slug}/runs/{run_id}/timeline
    read      GET    /api/v1/tenants/{slug}/agents
    read      GET    /api/v1/tenants/{slug}/agents/{agent_name}
    read      GET    /api/v1/tenants/{slug}/workflows
    read      GET    /api/v1/tenants/{slug}/workflows/{workflow_run_id}
    read      GET    /api/v1/tenants/{slug}/business/catalog
    read      GET    /api/v1/tenants/{slug}/business/summary
    read      GET    /api/v1/tenants/{slug}/business/series
    read      GET    /api/v1/tenants/{slug}/business/breakdown
    read      GET    /api/v1/tenants/{slug}/business/reports
    read      GET    /api/v1/tenants/{slug}/llm/usage
    read      GET    /api/v1/tenants/{slug}/metrics
    read      GET    /api/v1/tenants/{slug}/prices
    read      GET    /api/v1/tenants/{slug}/stream
    read      GET    /api/v1/tenants/{slug}/export/events
    read      GET    /api/v1/tenants/{slug}/export/business
    read      GET    /api/v1/tenants/{slug}/export/llm

    read      GET    /api/v1/tenants/{slug}/alerts
    read      GET    /api/v1/tenants/{slug}/alerts/counts
    read      GET    /api/v1/tenants/{slug}/alerts/{alert_id}/history
    member    POST   /api/v1/tenants/{slug}/alerts/acknowledge
    member    POST   /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge
    member    DELETE /api/v1/tenants/{slug}/alerts/{alert_id}/acknowledge
    member    POST   /api/v1/tenants/{slug}/alerts/{alert_id}/notes
    member    PUT    /api/v1/tenants/{slug}/agents/{agent_name}/mute
    member    DELETE /api/v1/tenants/{slug}/agents/{agent_name}/mute
    read      GET    /api/v1/tenants/{slug}/maintenance
    member    POST   /api/v1/tenants/{slug}/maintenance
    member    DELETE /api/v1/tenants/{slug}/maintenance/{window_id}
    member    GET    /api/v1/tenants/{slug}/model
    member    GET    /api/v1/tenants/{slug}/command-policy
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/model
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/command-policy
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/document
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/document/versions
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/document/diff

    member    GET    /api/v1/tenants/{slug}/catalog
    member    GET    /api/v1/tenants/{slug}/values
    member    GET    /api/v1/tenants/{slug}/agents/{agent_name}/values

    admin     PATCH  /api/v1/tenants/{slug}/catalog/{key}
    admin     PUT    /api/v1/tenants/{slug}/values/{key}
    admin     DELETE /api/v1/tenants/{slug}/values/{key}
    admin     PUT    /api/v1/tenants/{slug}/agents/{agent_name}/values/{key}
    admin     DELETE /api/v1/tenants/{slug}/agents/{agent_name}/values/{key}
    admin     PATCH  /api/v1/tenants/{slug}/agents/{agent_name}
    admin     DELETE /api/v1/tenants/{slug}/agents/{agent_name}
    admin     PUT    /api/v1/tenants/{slug}/agents/{agent_name}/schedule
    admin     DELETE /api/v1/tenants/{slug}/agents/{agent_name}/schedule
    admin     GET    /api/v1/tenants/{slug}/keys
    admin     POST   /api/v1/tenants/{slug}/keys
    admin     DELETE /api/v1/tenants/{slug}/keys/{key_id}
    admin     POST   /api/v1/tenants/{slug}/keys/{key_id}/rotate
    admin     PUT    /api/v1/tenants/{slug}/model
    admin     DELETE /api/v1/tenants/{slug}/model
    admin     PUT    /api/v1/tenants/{slug}/command-policy
    admin     DELETE /api/v1/tenants/{slug}/command-policy
    admin     PUT    /api/v1/tenants/{slug}/agents/{agent_name}/model
    admin     DELETE /api/v1/tenants/{slug}/agents/{agent_name}/model
    admin     PUT    /api/v1/tenants/{slug}/agents/{agent_name}/command-policy
    admin     DELETE /api/v1/tenants/{slug}/agents/{agent_name}/command-policy
    admin     PUT    /api/v1/tenants/{slug}/agents/{agent_name}/document
    admin     POST   /api/v1/tenants/{slug}/agents/{agent_name}/document/versions/{version}/restore
    admin     GET    /api/v1/tenants/{slug}/secrets
    admin     PUT    /api/v1/tenants/{slug}/secrets/{name}
    admin     DELETE /api/v1/tenants/{slug}/secrets/{name}
    member    GET    /api/v1/tenants/{slug}/rules
    admin     PUT    /api/v1/tenants/{slug}/rules
    member    GET    /api/v1/tenants/{slug}/retention
    admin     PUT    /api/v1/tenants/{slug}/retention
    admin     GET    /api/v1/tenants/{slug}/webhooks
    admin     POST   /api/v1/tenants/{slug}/webhooks
    admin     PATCH  /api/v1/tenants/{slug}/webhooks/{webhook_id}
    admin     DELETE /api/v1/tenants/{slug}/webhooks/{webhook_id}
    admin     POST   /api/v1/tenants/{slug}/webhooks/{webhook_id}/test
    admin     GET    /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries
    admin     POST   /api/v1/tenants/{slug}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry
    admin     GET    /api/v1/tenants/{slug}/audit
    admin     GET    /api/v1/tenants/{slug}/audit/verify
    admin     GET    /api/v1/tenants/{slug}/audit/head
    admin     GET    /api/v1/tenants/{slug}/users
    admin     POST   /api/v1/tenants/{slug}/users
    admin     PATCH  /api/v1/tenants/{slug}/users/{email}
    admin     DELETE /api/v1/tenants/{slug}/users/{email}
    admin     GET    /api/v1/tenants/{slug}/invitations
    admin     POST   /api/v1/tenants/{slug}/invitations
    admin     DELETE /api/v1/tenants/{slug}/invitations/{link_id}

    platform  GET    /api/v1/tenants
    platform  POST   /api/v1/tenants
    platform  PATCH  /api/v1/tenants/{slug}
    platform  DELETE /api/v1/tenants/{slug}
    platform  PUT    /api/v1/tenants/{slug}/bytes-correction
    platform  POST   /api/v1/tenants/{slug}/runs/rebuild
    platform  GET    /api/v1/platform/model
    platform  PUT    /api/v1/platform/model
    platform  DELETE /api/v1/platform/model
    platform  GET    /api/v1/platform/command-policy
    platform  PUT    /api/v1/platform/command-policy
    platform  DELETE /api/v1/platform/command-policy
    platform  GET    /api/v1/platform/prices
    platform  POST   /api/v1/platform/prices
    platform  POST   /api/v1/platform/prices/import
    platform  DELETE /api/v1/platform/prices/{price_id}
    platform  GET    /api/v1/platform/users
    platform  POST   /api/v1/platform/users
    platform  PATCH  /api/v1/platform/users/{email}
    platform  DELETE /api/v1/platform/users/{email}
    platform  GET    /api/v1/platform/users/{email}/sessions
    platform  DELETE /api/v1/platform/users/{email}/sessions
    platform  DELETE /api/v1/platform/users/{email}/sessions/{session_id}
    platform  POST   /api/v1/platform/users/{email}/reset-link
    platform  GET    /api/v1/platform/users/{email}/second-factor
    platform  DELETE /api/v1/platform/users/{email}/second-factor
    platform  GET    /api/v1/platform/users/{email}/identities
    platform  POST   /api/v1/platform/users/{email}/identities
    platform  DELETE /api/v1/platform/users/{email}/identities
    platform  GET    /api/v1/platform/oidc/groups
    platform  POST   /api/v1/platform/oidc/groups
    platform  DELETE /api/v1/platform/oidc/groups/{group_id}
    platform  GET    /api/v1/platform/invitations
    platform  POST   /api/v1/platform/invitations
    platform  DELETE /api/v1/platform/invitations/{link_id}
    platform  GET    /api/v1/platform/users/{email}/tokens
    platform  POST   /api/v1/platform/users/{email}/tokens
    platform  DELETE /api/v1/platform/users/{email}/tokens/{token_id}
    platform  GET    /api/v1/platform/audit
    platform  GET    /api/v1/platform/audit/verify
    platform  GET    /api/v1/platform/audit/head
    platform  POST   /api/v1/platform/vault/rotate
    platform  POST   /api/v1/platform/vault/data-keys/rotate

    open      POST   /api/v1/auth/forgot
    open      POST   /api/v1/auth/link
    open      POST   /api/v1/auth/link/accept
"""

ROWS = [line.split() for line in OPERATIONS.splitlines() if line.strip()]

AGENT = "access agent"
RUN_ID = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"
REPORT = {"agent_name": AGENT, "run_id": RUN_ID, "timestamp": "2026-01-02T03:04:05Z"}
POLICY = {"mode": "deny_all"}
OTLP = {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "access agent"}}]}}
SPAN = {"traceId": "ab" * 16, "spanId": "cd" * 8, "startTimeUnixNano": "1"}

# Values: a key that the catalog does not open to members, as none is at first.
# Shapes are checked before authority: these pass them. `client_id` is put in where there is one.
BODIES = {
    "POST /api/v1/auth/setup": {"code": "x", "email": "x@example.com", "password": PASSWORD},
    "POST /api/v1/auth/login": {"email": "", "password": PASSWORD},
    "POST /api/v1/auth/password": {"current_password": "x", "new_password": "aaaaaaaaaaaaaaa"},
    "POST /api/v1/auth/tokens": {"name": "x"},
    "POST /api/v1/auth/oidc/complete": {"code": "any", "state": "any"},
    "POST /api/v1/platform/users/{email}/identities": {"subject": "any"},
    "POST /api/v1/platform/oidc/groups": {"group": "any", "role": "platform_admin"},
    "POST /api/v1/auth/second-factor": {"current_password": PASSWORD},
    "POST /api/v1/auth/second-factor/confirm": {"code": "000000"},
    "POST /api/v1/auth/second-factor/recovery-codes": {"current_password": PASSWORD},
    "POST /api/v1/auth/second-factor/remove": {"current_password": PASSWORD},
    "POST /api/v1/auth/forgot": {"email": "x@example.com"},
    "POST /api/v1/auth/link": {"token": "x"},
    "POST /api/v1/auth/link/accept": {"token": "x", "password": PASSWORD},
    "POST /api/v1/tenants/{slug}/invitations": {"email": "invited@example.com", "role": "member"},
    "POST /api/v1/platform/invitations": {"email": "asked@example.com", "role": "platform_admin"},
    "POST /api/v1/platform/users/{email}/reset-link": {},
    "POST /api/v1/agents/register": {"agent_name": AGENT},
    "POST /api/v1/telemetry": {**REPORT, "client_id": "", "event": "started"},
    "POST /api/v1/telemetry/batch": {"events": [{**REPORT, "client_id": "", "event": "started"}]},
    "POST /api/v1/telemetry/business": {**REPORT, "client_id": ""},
    "POST /v1/traces": {"resourceSpans": [{**OTLP, "scopeSpans": [{"spans": [SPAN]}]}]},
    "POST /v1/logs": {"resourceLogs": [{**OTLP, "scopeLogs": [{"logRecords": [SPAN]}]}]},
    "POST /mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_runs"}},
    "POST /api/v1/telemetry/llm": {**REPORT, "client_id": "", "model": "m"},
    "POST /api/v1/tenants": {"slug": "made-by-access"},
    "PATCH /api/v1/tenants/{slug}": {},
    "DELETE /api/v1/tenants/{slug}": {"confirm": "another"},  # 422: it is needed below
    "PUT /api/v1/tenants/{slug}/bytes-correction": {"correction": 0},
    "PATCH /api/v1/tenants/{slug}/agents/{agent_name}": {"enabled": True},
    "POST /api/v1/tenants/{slug}/keys": {},
    "PUT /api/v1/tenants/{slug}/model": {"model": "m"},
    "PUT /api/v1/tenants/{slug}/command-policy": POLICY,
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/model": {"model": "m"},
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/command-policy": POLICY,
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/document": {"document": "x"},
    "PUT /api/v1/tenants/{slug}/secrets/{name}": {"value": "x"},
    "PUT /api/v1/tenants/{slug}/values/{key}": {"value": "x"},
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/values/{key}": {"value": "x"},
    "PATCH /api/v1/tenants/{slug}/catalog/{key}": {},
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/mute": {"until": "2030-01-01T00:00:00Z"},
    "PUT /api/v1/tenants/{slug}/agents/{agent_name}/schedule": {"cron": "0 8 * * *"},
    "POST /api/v1/tenants/{slug}/maintenance": {
        "from": "2030-01-01T00:00:00Z", "until": "2030-01-02T00:00:00Z",
    },
    "PUT /api/v1/tenants/{slug}/rules": {"run_failed": True},
    "POST /api/v1/tenants/{slug}/alerts/acknowledge": {"alert_ids": []},
    "POST /api/v1/tenants/{slug}/alerts/{alert_id}/notes": {"note": "x"},
    "PUT /api/v1/tenants/{slug}/retention": {"events_days": 36500},
    "POST /api/v1/tenants/{slug}/webhooks": {"url": "https://hooks.example.com/x"},
    "PATCH /api/v1/tenants/{slug}/webhooks/{webhook_id}": {"enabled": True},
    "POST /api/v1/tenants/{slug}/users": {"email": "none@example.com", "role": "member"},
    "PATCH /api/v1/tenants/{slug}/users/{email}": {"role": "member"},
    "PUT /api/v1/platform/model": {"model": "m"},
    "PUT /api/v1/platform/command-policy": POLICY,
    "POST /api/v1/platform/prices": {"model": "m", "input": "1", "output": "2"},
    "POST /api/v1/platform/prices/import": {"prices": {}},
    "POST /api/v1/platform/users": {"email": "none@example.com", "password": "aaaaaaaaaaaaaaa"},
    "PATCH /api/v1/platform/users/{email}": {"role": "none"},
    "POST /api/v1/platform/users/{email}/tokens": {"name": "x"},
}
QUERIES = {
    "POST /api/v1/heartbeat": "client_id=x",
    "GET /api/v1/agents/model": "agent_name=access%20agent",
    "GET /api/v1/agents/command-policy": "agent_name=access%20agent",
    "GET /api/v1/agents/config": "agent_name=access%20agent",
    "GET /api/v1/agents/document": "agent_name=access%20agent",
    "GET /api/v1/tenants/{slug}/business/series": "key=x",
    "GET /api/v1/tenants/{slug}/business/breakdown": "metric=x&by=y",
    "GET /api/v1/tenants/{slug}/business/reports": "agent_name=x&key=x",
    "GET /api/v1/tenants/{slug}/agents/{agent_name}/document/diff": "from=1&to=2",
}
VALUES = {
    "agent_name": "access%20agent", "run_id": RUN_ID, "workflow_run_id": "w", "key_id": "key_none",
    "email": "none@example.com", "version": "1", "name": "none", "price_id": "1",
    "webhook_id": "none", "delivery_id": "none", "key": "none", "alert_id": "none",
    "token_id": "pat_none", "session_id": "none", "link_id": "none", "window_id": "none",
    "group_id": "none",
}  # fmt: skip


OTHER_VALUES = {  # what goes away with its keys
    "DELETE /api/v1/tenants/{slug}/agents/{agent_name}": {"agent_name": "nobody"},
}


def test_every_operation_has_a_row_and_every_row_is_one():
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    declared = {(m.upper(), path) for path, item in document["paths"].items() for m in item}
    listed = [(method, path) for _, method, path in ROWS]
    assert len(listed) == len(set(listed))
    assert declared - set(listed) == set(), "not in OPERATIONS"
    assert set(listed) - declared == set(), "not in docs/openapi.json"
    names = {f"{method} {path}" for method, path in listed}
    assert set(BODIES) <= names and set(QUERIES) <= names
    for columns in LEVELS.values():
        assert len(columns.split()) == OPERATOR + 1


class Cast:
    """Everybody who tries, in the order of the columns."""

    def __init__(self, server):
        self.server, self.tenant, self.foreign = server, server.add_tenant(), server.add_tenant()
        tenant, client = self.tenant, server.client
        unknown = "mst_ws_000000000000000000000000000000" + "0ilNgQ"
        self.callers = [
            client(), client(unknown), self.foreign.client, tenant.agent_client("somebody else"),
            tenant.agent_client(AGENT), tenant.client, client(tenant.add_key(None, "--read-only")),
            tenant_person(self.foreign, "admin"), tenant_person(tenant, "member"),
            tenant_person(tenant, "admin"), platform_admin(server),
        ]  # fmt: skip
        if not server.database:
            self.callers.append(server.operator())
        self.email = add_user(server, "--role", "platform_admin")
        tenant.client.get("/api/v1/limits")  # with PostgreSQL, the server has to see what is new

    def body_of(self, operation):
        body = BODIES.get(operation)
        if body is None:
            return None
        filled = json.dumps(body).replace('"client_id": ""', f'"client_id": "{self.tenant.slug}"')
        return json.loads(filled.replace('"email": ""', f'"email": "{self.email}"'))

    def request(self, column, method, path, slug=None):
        operation = f"{method} {path}"
        values = {**VALUES, **OTHER_VALUES.get(operation, {})}
        target = path.format(slug=slug or self.tenant.slug, **values)
        if operation in QUERIES:
            target += f"?{QUERIES[operation]}"
        caller = self.callers[column]
        if path.endswith("/stream"):
            method = "HEAD"  # a stream that is let in has no end
        answer = caller.request(method, target, self.body_of(operation))
        if path.endswith(("/login", "/logout")) and isinstance(caller, Person):
            self.callers[column] = log_in(self.server, caller.email)  # that session is over
        return answer


@pytest.fixture(scope="module")
def cast(store, tmp_path_factory):
    """On a server of its own: what holds for the platform is changed too."""
    with running(store, tmp_path_factory.mktemp("access")) as server:
        yield Cast(server)


@pytest.mark.parametrize(("level", "method", "path"), ROWS)
def test_each_caller_is_let_in_or_refused_as_the_table_says(level, method, path, cast):
    expected = LEVELS[level].split()[: len(cast.callers)]
    answers = [cast.request(column, method, path) for column in range(len(cast.callers))]
    seen = [{401: "1", 403: "3"}.get(answer.status, "+") for answer in answers]
    assert seen == expected, [(answer.status, answer.body[:100]) for answer in answers]
    assert all(answer.status < 500 for answer in answers)


@pytest.mark.parametrize(("method", "path"), [row[1:] for row in ROWS if "{slug}" in row[2]])
def test_nobody_learns_whether_a_tenant_exists(method, path, cast):
    for column in (OTHER_TENANT, STRANGER):
        there, nowhere = (cast.request(column, method, path, slug) for slug in (None, "no-such"))
        assert (there.status, there.body) == (403, nowhere.body)
        assert nowhere.status == 403
    for column in range(PLATFORM, len(cast.callers)):
        assert cast.request(column, method, path, "no-such").status == 404


def test_a_request_with_authorization_ignores_cookies(cast):
    admin, path = cast.callers[PLATFORM], "/api/v1/tenants"
    assert admin.get(path).status == 200
    for header, status in (
        ("Bearer mst_ws_nothing", 401), ("Basic eDp5", 401), ("", 401),
        (f"Bearer {cast.tenant.token}", 403),
    ):  # fmt: skip
        assert admin.get(path, headers={"Authorization": header}).status == status
    here = cast.tenant.path("dashboard/runs")
    foreign = {"Authorization": f"Bearer {cast.foreign.token}"}
    assert admin.get(here, headers=foreign).status == 403


def test_a_read_only_key_stores_nothing_and_stays_read_only_when_it_rotates(tenant):
    made = json.loads(tenant.server.cli(
        "key", "add", "--tenant", tenant.slug, "--read-only", "--label", "board", "--json"
    ))  # fmt: skip
    assert (made["kind"], made["agent_name"]) == ("read_only", None)
    reader = tenant.server.client(made["token"])
    event = {**REPORT, "client_id": tenant.slug, "event": "started"}
    refused = reader.post("/api/v1/telemetry", event)
    assert (refused.status, refused.json()["detail"]) == (
        403, "A read-only key cannot report; use a workspace key or an agent key",
    )  # fmt: skip
    assert reader.get(tenant.path("dashboard/runs")).json()["runs"] == []
    assert reader.get(tenant.path("agents")).json()["agents"] == []
    fresh = reader.post("/api/v1/agents/refresh-key").json()
    assert (fresh["kind"], fresh["token"][:7]) == ("read_only", "mst_ro_")
    successor = tenant.server.client(fresh["token"])
    assert successor.post("/api/v1/telemetry", event).status == 403
    assert successor.get(tenant.path("agents")).status == 200
    tenant.server.cli("key", "delete", made["key_id"], "--tenant", tenant.slug)
    listed = json.loads(tenant.server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]
    kinds = {key["key_id"]: (key["kind"], key["revoked_at"] is None) for key in listed}
    assert kinds[made["key_id"]] == kinds[fresh["key_id"]] == ("read_only", False)
    assert ("workspace", True) in kinds.values()


def test_a_read_only_key_cannot_be_bound_to_an_agent(cast):
    body = {"agent_name": AGENT, "read_only": True}
    answer = cast.callers[ADMIN].post(cast.tenant.path("keys"), body)
    assert answer.status == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "read_only"]
    before = len(cast.callers[ADMIN].get(cast.tenant.path("keys")).json()["keys"])
    assert cast.callers[ADMIN].post(cast.tenant.path("keys"), body).status == 422
    assert len(cast.callers[ADMIN].get(cast.tenant.path("keys")).json()["keys"]) == before


def test_the_document_is_what_the_program_prints(cast):
    for path in ("/openapi.json", "/api/v1/openapi.json"):
        assert cast.server.client().get(path).body.decode().strip() == cast.server.cli("openapi").strip()
