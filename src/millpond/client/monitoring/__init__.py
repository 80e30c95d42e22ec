"""What becomes of an endpoint's request log: labels joined to it, quality and drift worked out from it.

All of it is done where it is asked for, by somebody who may read the datasets: the server never reads their tables.
"""
