"""Millpond keeps datasets beside the compute. The public surface of the SDK is re-exported here."""

__version__ = "0.1.0"
