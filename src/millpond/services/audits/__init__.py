"""What becomes of audit entries: how long they are kept, and where they are sent."""
