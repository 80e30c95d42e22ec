"""One volume of cached commits: fill, publish, evict. The format is docs/design/002-volume-format.md."""
