"""The DataOps Toolkit's functions by its names and arguments, on workspaces: change the import, keep the notebook.

    from netapp_dataops.traditional import create_volume   →   from millpond.dataops.traditional import create_volume
    from netapp_dataops.k8s import clone_jupyter_lab       →   from millpond.dataops.k8s import clone_jupyter_lab

docs/reference/dataops.md lists every verb, what it is here, and those that need a NetApp storage system.
"""
