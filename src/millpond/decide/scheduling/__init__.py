"""Scheduling: from an immutable snapshot of nodes, projects and jobs to a plan with reasons (docs/design/014).

`snapshot` has the input, `planner` makes the plan, `explain` puts it into words for one job when somebody asks.
"""
