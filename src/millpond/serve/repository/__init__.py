"""The models of a server: found in folders, loaded, replaced, unloaded."""

from .layout import ModelFolder, find_models
from .repository import Repository

__all__ = ["ModelFolder", "Repository", "find_models"]
