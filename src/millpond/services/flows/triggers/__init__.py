"""What starts flows by itself: triggers that are kept, what sets them off, and the runs they start."""
