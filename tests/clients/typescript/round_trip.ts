// One round trip with the types that openapi-typescript makes: report an event, read the run back.

import createClient from "openapi-fetch";

import type { paths } from "./muster";

const [baseUrl, token, slug] = [process.argv[2]!, process.argv[3]!, process.argv[4]!];
const run_id = "7d1c0f8e-2b5a-4e63-9c1d-5f0a8b7e6d43";

const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const sent = await client.POST("/api/v1/telemetry", {
    body: {
        agent_name: "typescript-client",
        client_id: slug,
        run_id,
        event: "started",
        timestamp: new Date().toISOString(),
        message: "hello",
    },
});
if (sent.data?.status !== "accepted") throw new Error(JSON.stringify(sent));
const read = await client.GET("/api/v1/tenants/{slug}/runs/{run_id}/events", {
    params: { path: { slug, run_id } },
});
if (read.data?.run.status !== "in_progress" || read.data.events.length !== 1)
    throw new Error(JSON.stringify(read));
const refused = await client.GET("/api/v1/tenants/{slug}/dashboard/runs", {
    params: { path: { slug }, query: { limit: 0 } },
});
if (refused.error === undefined || refused.response.status !== 422) throw new Error("no 422");
console.log("ok");
