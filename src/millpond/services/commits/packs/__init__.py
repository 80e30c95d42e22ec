"""Packs: who may build on which, verifying them, and where blobs lie."""
