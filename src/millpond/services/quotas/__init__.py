"""Quotas of projects: set by administrators, shown with who uses what, kept where something is taken."""
