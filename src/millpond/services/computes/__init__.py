"""Computes and their agents: joining, the exchange with them, what they are to run, trust."""
