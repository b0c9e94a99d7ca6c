"""The Python client of the Model Context Protocol reads a workspace. Arguments: URL, token, agent."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url, token, agent):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers) as http, Client(
        streamable_http_client(f"{url}/mcp", http_client=http)
    ) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["list_runs"].annotations.read_only_hint
        found = await client.call_tool("list_agents", {"limit": 5})
        assert not found.is_error
        assert [one["agent_name"] for one in found.structured_content["agents"]] == [agent]
        assert json.loads(found.content[0].text) == found.structured_content
        refused = await client.call_tool("get_agent", {"agent_name": "another"})
        assert refused.is_error and "another" in refused.content[0].text
    print("ok")


asyncio.run(main(*sys.argv[1:]))
