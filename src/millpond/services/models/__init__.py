"""Use cases of models: registered from what runs, jobs and people made, named by aliases, compared, deleted."""
