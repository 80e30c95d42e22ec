"""Cached commits: asked for, admitted, filled, held, checked and evicted, each by decisions of decide/."""
