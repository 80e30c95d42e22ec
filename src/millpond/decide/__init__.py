"""Pure decisions: a snapshot of the world in, a plan with reasons out. No I/O, clock, log or random."""
