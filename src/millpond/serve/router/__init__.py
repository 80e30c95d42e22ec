"""The router beside the replicas of a site: one address for the endpoints of a project.

It splits requests by weight among the versions of an endpoint, picks the replica with the fewest outstanding requests,
verifies endpoint tokens without network, holds requests while an endpoint starts from zero replicas, and repeats a
request once where a replica died before it answered. What it is to do stands in one file, which the agent rewrites
(`config.py`); what it did stands in another (`report.py`).
"""
