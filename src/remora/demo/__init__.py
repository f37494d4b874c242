"""What `remora demo` shows: two small MCP servers, a small client, and the tour that brings them together."""
