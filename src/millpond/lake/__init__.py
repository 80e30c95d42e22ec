"""Packs, pages, locators, commits and their transfer. The format is docs/design/001-lake-format.md."""
