"""Components of the library from this machine: run and test one alone, add one to a project."""
