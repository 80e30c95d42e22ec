"""Export files: commits in one verified file, for sites without a network connection (docs/design/024)."""
