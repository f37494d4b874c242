"""Every user-visible operation, defined once: MCP tools, REST routes, CLI commands and pages all call these."""
