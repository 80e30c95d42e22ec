"""Hyperparameter searches: create and change them, advance them, show their trials."""
