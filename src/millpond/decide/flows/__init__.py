"""Flows: reading and checking `flow.yaml`, its expressions, and what runs next."""
