"""Runs of other trackers, brought here: MLflow's servers and stores, TensorBoard's event files.

A source (`found.py`) tells which runs there are and reads their metrics and files; `run_writer.py` writes each to the
server, and only what it lacks. So an import that was cut short, or is made again, goes on where it was.
"""
