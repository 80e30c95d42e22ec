"""Endpoints: create and change them, turn them into replicas and routers, let people in."""
