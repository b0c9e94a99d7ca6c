// The TypeScript client of the Model Context Protocol reads a workspace. Arguments: URL, token, agent.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, agent] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
    }),
);
const { tools } = await client.listTools();
assert(tools.every((tool) => tool.annotations.readOnlyHint));
const found = await client.callTool({ name: "list_agents", arguments: { limit: 5 } });
assert.deepEqual(found.structuredContent.agents.map((one) => one.agent_name), [agent]);
assert.deepEqual(JSON.parse(found.content[0].text), found.structuredContent);
const refused = await client.callTool({ name: "get_agent", arguments: { agent_name: "another" } });
assert(refused.isError && refused.content[0].text.includes("another"));
await assert.rejects(client.callTool({ name: "no_such_tool" }), { code: -32602 });
await client.close();
console.log("ok");
