"""Tools under the names other gateways and memory servers have for them; listed only where they were asked for."""
