"""Uploads: which content is missing, where it is written, and what has arrived."""
