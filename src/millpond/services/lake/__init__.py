"""Care of the lake: who owns it, what it holds, what is removed from it, and everything read back from it."""
