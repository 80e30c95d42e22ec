"""How content becomes a commit: uploads, the checks before one is accepted, refs, edits and merges."""
