"""Backups of a server: made while it runs, listed, verified, restored into either kind of database."""
