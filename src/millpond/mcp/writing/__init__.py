"""Tools that change something: there only with `mill mcp --write`."""
