"""Tools that change nothing."""
