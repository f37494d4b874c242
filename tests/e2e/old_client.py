"""A client on the 1.x SDK, run by its own interpreter: `old_client.py stdio PROGRAM ARGS…` or `… URL TOKEN`.

Prints what it saw as one JSON document.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def use(streams):
    progress = []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    async def on_elicit(context, params):
        return types.ElicitResult(action="accept", content={"answer": "old"})

    async with ClientSession(streams[0], streams[1], elicitation_callback=on_elicit) as session:
        greeting = await session.initialize()
        tools = await session.list_tools()
        echoed = await session.call_tool("up__echo", {"text": "old friend"})
        await session.call_tool("up__progress", {"steps": 3}, progress_callback=on_progress)
        elicited = await session.call_tool("up__elicit", {})
        failed = await session.call_tool("up__complain", {"message": "no"})
        resources = await session.list_resources()
        read = await session.read_resource(resources.resources[0].uri)
        prompt = await session.get_prompt("up__greet", {"who": "you"})
        print(
            json.dumps(
                {
                    "version": greeting.protocolVersion,
                    "server": greeting.serverInfo.name,
                    "tools": [tool.name for tool in tools.tools],
                    "echo": echoed.content[0].text,
                    "progress": progress,
                    "elicited": elicited.structuredContent,
                    "failed": failed.isError,
                    "read": read.contents[0].text,
                    "prompt": prompt.messages[0].content.text,
                }
            )
        )


async def main():
    if sys.argv[1] == "stdio":
        program = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ))
        async with stdio_client(program) as streams:
            await use(streams)
    else:
        headers = {"Authorization": f"Bearer {sys.argv[2]}"}
        async with streamablehttp_client(sys.argv[1], headers=headers) as streams:
            await use(streams)


asyncio.run(main())
