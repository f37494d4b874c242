"""How bytes become messages: the only package that knows JSON-RPC framing, pipes and HTTP transports."""
