"""`mill mcp`: the verbs of Millpond as tools for coding assistants, by the Model Context Protocol.

`reading/` and `writing/` hold the tools, a class for each noun, on top of `millpond.client`. `tool.py` makes what the
protocol knows of them, `answers.py` keeps answers small, `server.py` puts all together. Needs `millpond[mcp]`.
"""
