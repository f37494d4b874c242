"""The gateway: one connection in front of any number of MCP servers. Read pipeline.py first."""
