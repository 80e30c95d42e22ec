"""How many workers a cluster has, which go, and how it stands: pure, with reasons."""
