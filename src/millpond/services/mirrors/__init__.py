"""Mirrors: what datasets and workspaces hold, kept the same in buckets and at other sites."""
