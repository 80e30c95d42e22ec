"""Datasets and what people read of them: histories, directories, files, differences, previews, archives."""
