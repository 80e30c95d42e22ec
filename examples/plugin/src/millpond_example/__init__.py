"""A plug-in for Millpond: the driver `nice` and the store `sqlite://`."""
