"""The public MCP conformance suite: a reference server for it, and a runner that counts its checks."""
