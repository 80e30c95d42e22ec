"""Attaching a machine over SSH: the package is copied there and its agent started. Needs the extra `ssh`."""
