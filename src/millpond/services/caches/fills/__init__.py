"""Fills: what agents are asked to do on volumes, and what they report."""
