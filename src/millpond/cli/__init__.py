"""The command line, one file per noun, on top of the client."""
