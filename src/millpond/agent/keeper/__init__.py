"""The keeper: the parent of one job's command. Writes its log and exit status to disk, outlives agent and server.

A package of standard-library Python from 3.9 on that needs nothing of Millpond: the agent imports it as its own, its
nursery forks it, and engines get it as one file (`archives`), started as `python -I -S keeper.pyz DIRECTORY`. Its
modules therefore name each other relatively, and import neither pathlib nor typing: each would cost every job a
megabyte. The files of DIRECTORY and their meaning are in docs/design/003-agent-protocol.md; it is the working
directory, so names are plain.
"""
