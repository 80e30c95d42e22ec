"""Object storage behind one small Protocol."""
