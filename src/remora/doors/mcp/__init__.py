"""MCP towards agents: stdio and streamable HTTP in front of one gateway."""
