"""Tools of MCP servers: the client's side of the protocol whose server is `webapp/mcp_server`."""
