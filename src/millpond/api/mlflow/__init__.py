"""MLflow's REST API at /mlflow/PROJECT, for clients that have only their tracking URI changed (docs/mlflow.md).

`server.py` finds the endpoint of a request; a module per noun has the endpoints; `shapes.py` writes our nouns in
MLflow's words; `errors.py` our errors in its shape; `methods.py` is the list of all methods of its protocol, from which
those that are not offered answer 501.
"""
