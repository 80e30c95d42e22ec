"""Moves files between a bucket and a directory, in a job: parallel, resumable, verified, only differences.

It stands alone: jobs carry it without the rest of Millpond, and it needs nothing but Python.
"""
