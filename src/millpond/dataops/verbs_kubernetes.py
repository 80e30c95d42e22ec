"""The commands of the toolkit for Kubernetes, and what each is here."""

from __future__ import annotations

from millpond.dataops.verbs import Verb, option

_NAMESPACE = option("namespace", "n")
_CLASS = option("volume-snapshot-class", "c", ignored=True)
_RESOURCES = (
    option("nvidia-gpu", "g", "request_nvidia_gpu"),
    option("memory", "m", "request_memory"),
    option("cpu", "p", "request_cpu"),
    option("load-balancer", "b", flag=True, ignored=True),
    option("allocate-resource", "r", ignored=True),
    option("no-https", flag=True, ignored=True),
    _NAMESPACE,
)
_MOVE = "Copy it by a job of the project: `mill move s3://BUCKET/PREFIX WORKSPACE`, and the other way round."
_SECRET = "A connection keeps the keys of a bucket: `mill connection add NAME s3://BUCKET`."
_TRUST = "Certificates are trusted where server and agents run: set SSL_CERT_FILE for them."
_ASTRA = "Astra Control has ended. Snapshots are kept in the lake by themselves: `mill workspace snapshots NAME`."

KUBERNETES = (
    Verb(
        "create volume",
        "create_volume",
        "mill workspace create NAME --size SIZE --volume CLASS",
        (option("pvc-name", "p"), option("size", "s", "volume_size"), option("storage-class", "c"), _NAMESPACE),
    ),
    Verb(
        "clone volume",
        "clone_volume",
        "mill workspace clone SOURCE[@SNAPSHOT] NAME",
        (
            option("new-pvc-name", "p"),
            option("source-pvc-name", "v"),
            option("source-snapshot-name", "s"),
            _CLASS,
            _NAMESPACE,
        ),
    ),
    Verb(
        "delete volume",
        "delete_volume",
        "mill workspace rm NAME",
        (
            option("pvc-name", "p"),
            option("preserve-snapshots", "s", flag=True),
            option("force", "f", flag=True),
            _NAMESPACE,
        ),
    ),
    Verb("list volumes", "list_volumes", "mill workspace list", (_NAMESPACE,)),
    Verb(
        "create volume-snapshot",
        "create_volume_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT]",
        (option("pvc-name", "p"), option("snapshot-name", "s"), _CLASS, _NAMESPACE),
    ),
    Verb(
        "list volume-snapshots",
        "list_volume_snapshots",
        "mill workspace snapshots NAME",
        (option("pvc-name", "p"), _NAMESPACE),
    ),
    Verb(
        "restore volume-snapshot",
        "restore_volume_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (option("snapshot-name", "s"), option("force", "f", flag=True), _NAMESPACE),
    ),
    Verb(
        "delete volume-snapshot",
        "delete_volume_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (option("snapshot-name", "s"), option("force", "f", flag=True), _NAMESPACE),
    ),
    Verb(
        "create jupyterlab",
        "create_jupyter_lab",
        "mill workspace create NAME --size SIZE; mill workspace open NAME --lab",
        (
            option("workspace-name", "w"),
            option("size", "s", "workspace_size"),
            option("mount-pvc", "v"),
            option("image", "i", "workspace_image"),
            option("storage-class", "c"),
            *_RESOURCES,
            option("register-with-astra", "a", flag=True, ignored=True),
        ),
    ),
    Verb(
        "clone jupyterlab",
        "clone_jupyter_lab",
        "mill workspace clone SOURCE[@SNAPSHOT] NAME; mill workspace open NAME --lab",
        (
            option("new-workspace-name", "w"),
            option("source-workspace-name", "j"),
            option("source-snapshot-name", "s"),
            *_RESOURCES,
            option("volume-snapshot-class", "c", ignored=True),
        ),
    ),
    Verb(
        "delete jupyterlab",
        "delete_jupyter_lab",
        "mill workspace rm NAME",
        (
            option("workspace-name", "w"),
            option("preserve-snapshots", "s", flag=True),
            option("force", "f", flag=True),
            _NAMESPACE,
        ),
    ),
    Verb(
        "list jupyterlabs",
        "list_jupyter_labs",
        "mill workspace list; mill workspace sessions NAME",
        (_NAMESPACE, option("include-astra-app-id", "a", flag=True, ignored=True)),
    ),
    Verb(
        "create jupyterlab-snapshot",
        "create_jupyter_lab_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT]",
        (option("workspace-name", "w"), option("snapshot-name", "s"), _CLASS, _NAMESPACE),
    ),
    Verb(
        "list jupyterlab-snapshots",
        "list_jupyter_lab_snapshots",
        "mill workspace snapshots NAME",
        (option("workspace-name", "w"), _NAMESPACE),
    ),
    Verb(
        "restore jupyterlab-snapshot",
        "restore_jupyter_lab_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (option("snapshot-name", "s"), option("force", "f", flag=True, ignored=True), _NAMESPACE),
    ),
    Verb(
        "delete jupyterlab-snapshot",
        "delete_volume_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (option("snapshot-name", "s"), option("force", "f", flag=True), _NAMESPACE),
    ),
    *(
        Verb(command, function, None, refused=sentence)
        for command, function, sentence in (
            (
                "create triton-server",
                "create_triton_server",
                "Register the models, then serve them: `mill endpoint create NAME --model MODEL@VERSION`.",
            ),
            ("list triton-servers", "list_triton_servers", "See what is served: `mill endpoint list`."),
            ("delete triton-server", "delete_triton_server", "Delete the endpoint: `mill endpoint delete NAME`."),
            *(
                (command, "S3DataMover", _MOVE)
                for command in ("get-s3 bucket", "get-s3 object", "put-s3 bucket", "put-s3 object")
            ),
            ("show s3-job", "", "A move is a job: `mill get JOB`, `mill logs JOB`."),
            ("delete s3-job", "", "A move is a job: `mill stop JOB`."),
            ("create s3-secret", "create_k8s_opaque_secret", _SECRET),
            ("delete s3-secret", "delete_k8s_secret", "Remove the connection: `mill connection rm NAME`."),
            ("create ca-config-map", "create_k8s_config_map", _TRUST),
            ("delete ca-config-map", "delete_k8s_config_map", _TRUST),
            ("", "S3ConfigSecret", _SECRET),
            ("", "CAConfigMap", _TRUST),
            (
                "create flexcache",
                "create_flexcache",
                "Cache a commit beside the compute: `mill cache add DATASET@REF`.",
            ),
            (
                "delete flexcache-volume",
                "delete_flexcache_volume",
                "Remove a cached commit: `mill cache clear DATASET@REF`.",
            ),
            ("clone-to-new-ns jupyterlab", "clone_jupyter_lab_to_new_namespace", _ASTRA),
            ("register-with-astra jupyterlab", "register_jupyter_lab_with_astra", _ASTRA),
            ("backup-with-astra jupyterlab", "backup_jupyter_lab_with_astra", _ASTRA),
        )
    ),
)
