"""Clusters: schedulers and workers of Dask and Ray as jobs at a site (docs/design/027)."""
