"""Decisions about endpoints: what `endpoint.yaml` says, which replicas start and drain, who gets which requests."""
