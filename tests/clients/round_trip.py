"""One round trip with the client that openapi-python-client makes: report an event, read the run
back. Run by test_clients.py, with the generated package on the path."""

import datetime
import sys
import uuid

from muster_client import AuthenticatedClient
from muster_client.api.events import get_run_events, list_runs, report_event
from muster_client.api.otlp import export_traces
from muster_client.models import ExportTracesJsonBody, HTTPValidationError, RunNarrative, TelemetryEvent
from muster_client.models.telemetry_event_event import TelemetryEventEvent

url, token, slug = sys.argv[1:]
run_id = uuid.UUID("7d1c0f8e-2b5a-4e63-9c1d-5f0a8b7e6d41")
client = AuthenticatedClient(base_url=url, token=token)
event = TelemetryEvent(
    agent_name="python-client",
    client_id=slug,
    run_id=run_id,
    event=TelemetryEventEvent.STARTED,
    timestamp=datetime.datetime.now(datetime.timezone.utc),
)
sent = report_event.sync_detailed(client=client, body=event)
assert sent.status_code == 202, sent
assert sent.parsed.status == "accepted", sent
read = get_run_events.sync(slug, run_id, client=client)
assert isinstance(read, RunNarrative), read
assert read.run.status == "in_progress", read
assert len(read.events) == 1, read
assert isinstance(list_runs.sync(slug, client=client, limit=0), HTTPValidationError)

traced = uuid.UUID("0af76519-16cd-43dd-8448-eb211c80319c")
span = {
    "traceId": traced.hex, "spanId": "b7ad6b7169203331", "name": "traced",
    "startTimeUnixNano": "1768469400000000000", "endTimeUnixNano": "1768469401000000000",
}  # fmt: skip
resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "python-client"}}]}
spans = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
sent = export_traces.sync_detailed(client=client, body=ExportTracesJsonBody.from_dict(spans))
assert sent.status_code == 200, sent
read = get_run_events.sync(slug, traced, client=client)
assert isinstance(read, RunNarrative), read
assert read.run.status == "completed", read
print("ok")
