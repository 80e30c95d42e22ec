"""Loggers and callbacks for training libraries. Each module imports its library; importing `millpond` imports none."""
