"""Batch inference: a model over a folder of tables, arrays or images, in shards, resumable (docs/serving.md)."""
