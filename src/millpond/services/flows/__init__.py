"""Flows: saved as commits, run as jobs, remembered."""
