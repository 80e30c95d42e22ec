"""Attaching: a machine over SSH (needs the extra `ssh`), a Kubernetes cluster by what `kubectl` is given."""
