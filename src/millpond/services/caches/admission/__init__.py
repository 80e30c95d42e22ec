"""Room for a commit: what a volume holds, what a commit takes beside it, whether and where it fits."""
