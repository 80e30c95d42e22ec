"""`mill compute attach kubernetes`: prints what makes a cluster a compute, for `kubectl apply`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import typer

from millpond.cli.session import Session
from millpond.client.attach.kubernetes import ClusterPlan, claims, objects
from millpond.client.computes import create_join_token
from millpond.errors import SetupError


def attach_kubernetes(
    mill: Session,
    image: Annotated[str, typer.Option(help="Image with Millpond (pip install millpond), for the agent.")],
    mount: Annotated[
        list[str],
        typer.Option(
            metavar="PATH=WHAT",
            help="What agent and jobs see at PATH: pvc:CLAIM or pvc:CLAIM/SUB, nfs:SERVER:/EXPORT, host "
            "or host:PATH. Repeatable.",
        ),
    ],
    site: Annotated[str, typer.Option(help="Site of the cluster.")] = "local",
    name: Annotated[str | None, typer.Option(help="Name of the compute.", show_default="its site")] = None,
    job_image: Annotated[
        str | None, typer.Option(help="Default image for jobs, with Python 3.9 or newer.", show_default="the agent's")
    ] = None,
    jobs_of: Annotated[
        list[str] | None,
        typer.Option(metavar="PROJECT", help="Namespace for this project's jobs. Repeatable.", show_default="none"),
    ] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the agent.")] = "millpond",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="Further option for the driver. Repeatable."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL of the server as seen from the cluster.", show_default="the URL used here"
        ),
    ] = None,
    compute: Annotated[
        str | None, typer.Option(help="Re-attach this compute: it keeps its history, settings and trust.")
    ] = None,
    token: Annotated[bool, typer.Option(help="Include a join token, valid for one hour.")] = True,
) -> None:
    """Print the Kubernetes manifest of an agent: pipe it into `kubectl apply -f -`.

    It holds a Deployment with one agent, a service account with the rights it needs, and a join token. The agent fills
    volumes from inside the cluster, runs each job as a pod and only makes outgoing connections.

    Example: mill compute attach kubernetes --image registry.lab/millpond --mount /cache=pvc:cache | kubectl apply -f -
    """
    try:
        import yaml  # noqa: PLC0415 - an extra: only who attaches clusters needs it
    except ModuleNotFoundError as error:
        raise SetupError("The manifest needs PyYAML.", hint="Run: pip install 'millpond[kubernetes]'") from error
    plan = ClusterPlan(
        server=(url or mill.api.base_url).rstrip("/"),
        site=site,
        name=name or site,
        image=image,
        job_image=job_image or image,
        mounts=mount,
        namespace=namespace,
        projects=jobs_of or (),
        options=option or (),
    )
    if urlsplit(plan.server).hostname in ("127.0.0.1", "localhost", "::1"):
        mill.out.warn(f"Pods cannot reach {plan.server}: set the URL they use with --url.")
    needed = claims(plan)  # before a token is made
    if token:
        made = create_join_token(mill.api, None if compute else site, compute=compute, seconds=3600)
        plan = replace(plan, join_token=made.secret, site=made.site, name=compute or plan.name)
    if mill.out.as_json:
        mill.out.json({"apiVersion": "v1", "kind": "List", "items": objects(plan)})
    else:
        mill.out.line(yaml.safe_dump_all(objects(plan), sort_keys=False).rstrip())
    if needed:
        mill.out.note(f"These claims must exist, on the same storage: {', '.join(needed)}.")
    mill.out.note(f"To add a volume there: mill volume add {plan.name}-cache {plan.cache_dir} --site {site}")
