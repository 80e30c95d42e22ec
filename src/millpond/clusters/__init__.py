"""The programs of a cluster's scheduler and workers (docs/design/027): they run in the user's environment, as jobs.

They stand alone: jobs carry this package as `millpond_clusters`, without the rest of Millpond. Python 3.9 and newer.
"""
