"""What a compute cannot do for a job, even when empty: as reported by its driver, never guessed from its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from millpond.decide.computes import WHOLE, NodeView, QueuedJob
from millpond.decide.empty_nodes import processes_that_fit
from millpond.decide.gpu_types import is_gpu_type, missing_label
from millpond.model.job_spec import ROUTER, JobSpec, Launcher, Resources
from millpond.model.quantity import format_bytes, format_count, format_gpus


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job can run nowhere, and what to do."""

    reason: str
    hint: str


def why_unable(job: QueuedJob, node: NodeView) -> str | None:
    """Why this node can never run the job; None if it can when empty."""
    unable = why_compute_unable(job, node)
    if unable:
        return unable
    if untaken := _untaken(job, node):
        return f"{node.written} has {_no_such(untaken, node)}."
    return unsuited_words(job.spec, node) or _too_small(job.spec.resources, node)


def why_compute_unable(job: QueuedJob, node: NodeView) -> str | None:
    """Why no node of this one's compute can run the job; None if one may."""
    if job.spec.image and not node.containers:
        return f"{node.written} cannot run container images."
    if job.spec.processes and not _starts_processes(job.spec, node):
        what = "MPI programs" if job.spec.launcher is Launcher.MPI else "distributed jobs"
        return f"{node.compute} cannot run {what}."
    if not _may_serve(job.spec, node):
        return f"{node.compute} cannot {_serving(job.spec)}: {node.serving_problem or f'its driver is {node.driver}.'}"
    if not job.spec.reached <= node.reached:
        return f"{node.compute} cannot {_lacking(job, node)}."
    return _unable_to_share(job.spec.resources, node)


def refusal(job: QueuedJob, nodes: Sequence[NodeView]) -> Refusal | None:
    """Why no allowed node could ever run the job; None if one could, or no node is known yet."""
    allowed = [node for node in nodes if node.answers_to(job.spec.compute)]
    if not allowed:
        return None
    anywhere = nodes
    for is_able, refused in _rules(job):
        able, anywhere = ([node for node in some if is_able(node)] for some in (allowed, anywhere))
        if not able:
            others = sorted({node.compute for node in anywhere})
            found = refused(allowed)
            return Refusal(found.reason, f"These can: {', '.join(others)}.") if others else found
        allowed = able
    large = [node for node in allowed if _too_small(job.spec.resources, node) is None]
    if large:
        return _too_many(job, large)
    return Refusal(_largest(job.spec.resources, allowed), "Request less, or attach a larger compute.")


Rule = tuple[Callable[[NodeView], bool], Callable[[Sequence[NodeView]], Refusal]]


def _rules(job: QueuedJob) -> list[Rule]:
    """Requirements on nodes, in the order they are checked, each with its refusal."""
    rules: list[Rule] = []
    if job.spec.resources.gpu_hundredths:
        rules.append((lambda node: node.gpus > 0, lambda _: _no_gpu(job)))
        rules.append((lambda node: _unable_to_share(job.spec.resources, node) is None, partial(_not_shared, job)))
    if job.spec.image:
        rules.append((lambda node: node.containers, lambda _: _no_image(job)))
    if job.spec.processes:
        rules.append((lambda node: _starts_processes(job.spec, node), lambda _: _no_gang(job)))
    if job.spec.site_id:
        rules.append((lambda node: node.site_id == job.spec.site_id, lambda _: _not_there()))
    if job.spec.service:
        rules.append((lambda node: _may_serve(job.spec, node), partial(_no_service, job.spec)))
    if job.spec.reached:
        rules.append((lambda node: job.spec.reached <= node.reached, partial(_not_reached, job)))
    rules += _constraints(job)
    if job.spec.options:
        rules.append((lambda node: _untaken(job, node) is None, partial(_no_option, job)))
    return rules


def unsuited_words(spec: JobSpec, node: NodeView) -> str | None:
    """What a node lacks of the GPU type, GPU memory, labels and mounts that a job asks for; None if it has all."""
    if spec.site_id not in (None, node.site_id):
        return f"{node.written} is at another site."
    if absent := missing_mount(spec, node):
        return f"{node.written} is at another site than the mount {absent}."
    if spec.gpu_type and not is_gpu_type(spec.gpu_type, node.gpu_model):
        return f"{node.written} has {node.gpu_model or 'no'} GPUs, not {spec.gpu_type}."
    if spec.min_gpu_memory_bytes > node.gpu_memory_bytes:
        known = format_bytes(node.gpu_memory_bytes) if node.gpu_memory_bytes else "unknown"
        return f"{node.written}: its GPUs' memory is {known}; {format_bytes(spec.min_gpu_memory_bytes)} requested."
    label = missing_label(spec.node_selector, node.labels)
    return f"{node.written} does not have the label {label}." if label else None


def _constraints(job: QueuedJob) -> list[Rule]:
    spec = job.spec
    rules: list[Rule] = []
    if spec.gpu_type:
        wanted = spec.gpu_type
        rules.append((lambda node: is_gpu_type(wanted, node.gpu_model), partial(_no_gpu_type, wanted)))
    if spec.min_gpu_memory_bytes:
        least = spec.min_gpu_memory_bytes
        rules.append((lambda node: node.gpu_memory_bytes >= least, partial(_no_gpu_memory, least)))
    if spec.node_selector:
        selector = spec.node_selector
        rules.append((lambda node: missing_label(selector, node.labels) is None, partial(_no_label, selector)))
    if spec.mounts:
        rules.append((lambda node: missing_mount(spec, node) is None, partial(_no_mount, spec)))
    return rules


def missing_mount(spec: JobSpec, node: NodeView) -> str | None:
    """The first mount that exists only at another site than the node's."""
    return next((one.mount for one in spec.mounts if one.site_id not in ("", node.site_id)), None)


def _no_mount(spec: JobSpec, nodes: Sequence[NodeView]) -> Refusal:
    absent = missing_mount(spec, nodes[0])
    return Refusal(f"No compute is at the site of the mount {absent}.", "Attach one there, or remove the mount.")


def _no_gpu_type(wanted: str, nodes: Sequence[NodeView]) -> Refusal:
    known = sorted({node.gpu_model for node in nodes if node.gpu_model and node.gpu_model != "declared"})
    hint = f"Available: {', '.join(known)}." if known else "Declare it where the agent starts: mill agent --gpu-type"
    return Refusal(f"No node has a GPU of type {wanted}.", hint)


def _no_gpu_memory(least: int, nodes: Sequence[NodeView]) -> Refusal:
    most = max(node.gpu_memory_bytes for node in nodes)
    hint = f"The largest has {format_bytes(most)}." if most else "Declare it: mill agent --gpu-memory"
    return Refusal(f"No node has GPUs with {format_bytes(least)} of memory.", hint)


def _no_label(selector: Mapping[str, str], nodes: Sequence[NodeView]) -> Refusal:
    written = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))
    known = sorted({f"{key}={node.labels[key]}" for node in nodes for key in selector if key in node.labels})
    hint = f"Available: {', '.join(known[:10])}." if known else "`mill compute show` lists the labels of each node."
    return Refusal(f"No node has the label {written}.", hint)


def _no_gpu(job: QueuedJob) -> Refusal:
    where = "No node" if job.spec.compute is None else f"No node of compute {job.spec.compute}"
    return Refusal(
        f"{where} has a GPU.",
        "Declare the GPUs of the server's machine when you start it: mill up --gpus N. Or request no GPUs.",
    )


def _not_shared(job: QueuedJob, nodes: Sequence[NodeView]) -> Refusal:
    reason = min(words for node in nodes if (words := _unable_to_share(job.spec.resources, node)))
    counted = job.spec.resources.gpu_enforced and any(node.gpu_fractions == "accounted" for node in nodes)
    return Refusal(
        reason, "Remove --enforced; the job then sees its share in a variable." if counted else "Request whole GPUs."
    )


def _no_image(job: QueuedJob) -> Refusal:
    where = "No compute can" if job.spec.compute is None else f"Compute {job.spec.compute} cannot"
    return Refusal(f"{where} run container images.", "Remove --image, or attach a compute with a container driver.")


def _starts_processes(spec: JobSpec, node: NodeView) -> bool:
    return node.mpi if spec.launcher is Launcher.MPI else node.gangs


def _no_gang(job: QueuedJob) -> Refusal:
    where = "No compute can" if job.spec.compute is None else f"Compute {job.spec.compute} cannot"
    if job.spec.launcher is Launcher.MPI:
        return Refusal(
            f"{where} run MPI programs: mpirun needs a single machine, or Slurm.",
            "Attach one of these, or add --launcher torch if the program does not use MPI.",
        )
    return Refusal(
        f"{where} run distributed jobs.",
        "Remove --processes, or attach a compute whose driver supports distributed jobs.",
    )


def _not_there() -> Refusal:
    return Refusal("No compute is at the site.", "Attach one there: mill compute attach")


def _may_serve(spec: JobSpec, node: NodeView) -> bool:
    if spec.service is None:
        return True
    return node.routers if spec.service.role == ROUTER else node.services


def _serving(spec: JobSpec) -> str:
    if spec.service and spec.service.cluster:
        return "run clusters"
    return "run routers of endpoints" if spec.service and spec.service.role == ROUTER else "serve endpoints"


def _no_service(spec: JobSpec, nodes: Sequence[NodeView]) -> Refusal:
    problems = sorted({node.serving_problem or f"Driver {node.driver} does not." for node in nodes})
    return Refusal(
        f"No compute at the site can {_serving(spec)}. {' '.join(problems)}",
        "Attach a machine of the site whose agent runs plain processes: mill compute attach",
    )


def _too_many(job: QueuedJob, nodes: Sequence[NodeView]) -> Refusal | None:
    """Refusal of a distributed job that does not fit into any empty compute; None if it fits or is not distributed."""
    if not job.spec.processes:
        return None
    by_compute = {
        compute: processes_that_fit(job, [node for node in nodes if node.compute == compute])
        for compute in sorted({node.compute for node in nodes})
    }
    best = max(by_compute, key=by_compute.__getitem__)
    if by_compute[best] >= job.spec.processes:
        return None
    return Refusal(
        f"No compute has room for {job.spec.processes} processes of this size at once; {best} has room "
        f"for {by_compute[best]}.",
        "Request fewer or smaller processes, or attach a larger compute.",
    )


def _not_reached(job: QueuedJob, nodes: Sequence[NodeView]) -> Refusal:
    where = "No compute can" if job.spec.compute is None else f"Compute {job.spec.compute} cannot"
    return Refusal(
        f"{where} {min(_lacking(job, node) for node in nodes)}.",
        "`mill compute show` lists what each compute supports. Without --interactive and --port, the job can run.",
    )


def _lacking(job: QueuedJob, node: NodeView) -> str:
    words = {"exec": "open a terminal in a job", "ports": "forward ports of a job"}
    return words[min(job.spec.reached - node.reached)]


def _no_option(job: QueuedJob, nodes: Sequence[NodeView]) -> Refusal:
    node = next((node for node in nodes if _values(_untaken(job, node) or "", node)), nodes[0])
    untaken = _untaken(job, node) or ""
    values = sorted({value for one in nodes for value in _values(untaken, one)})
    hint = f"Available: {', '.join(values)}." if values else "`mill compute show` lists the options of each compute."
    return Refusal(f"{node.compute} has {_no_such(untaken, node)}.", hint)


def _no_such(untaken: str, node: NodeView) -> str:
    key, _, value = untaken.partition("=")
    return f"no {key} {value!r}" if _values(untaken, node) else f"no job option {key!r}"


def _untaken(job: QueuedJob, node: NodeView) -> str | None:
    """The first driver option of the job that the node does not offer."""
    return next(iter(untaken_options(job.spec.options, node)), None)


def untaken_options(options: Mapping[str, str], node: NodeView) -> list[str]:
    """Those of these driver options that the node does not offer, as KEY=VALUE."""
    wanted = (f"{key}={value}" for key, value in sorted(options.items()))
    return [one for one in wanted if not {one, f"{one.partition('=')[0]}=*"} & node.options]


def _values(option: str, node: NodeView) -> set[str]:
    """Values that the node offers for this KEY=VALUE."""
    key = option.partition("=")[0]
    return {value for name, _, value in (one.partition("=") for one in node.options) if name == key}


def _unable_to_share(resources: Resources, node: NodeView) -> str | None:
    if resources.gpu_hundredths % WHOLE == 0:
        return None
    if node.gpu_fractions == "none":
        return f"{node.compute} supports whole GPUs only."
    if resources.gpu_enforced and node.gpu_fractions != "enforced":
        return f"{node.compute} does not enforce fractions of a GPU."
    return None


def _too_small(resources: Resources, node: NodeView) -> str | None:
    if resources.gpu_hundredths > node.gpus * WHOLE:
        return (
            f"{node.written} has {format_count(node.gpus, 'GPU')}; {format_gpus(resources.gpu_hundredths)} requested."
        )
    if resources.cpu > node.cpus:
        return f"{node.written} has {format_count(node.cpus, 'CPU')}; {resources.cpu} requested."
    if resources.memory_bytes > node.memory_bytes:
        total = format_bytes(node.memory_bytes)
        return f"{node.written} has {total} of memory; {format_bytes(resources.memory_bytes)} requested."
    return None


def _largest(resources: Resources, nodes: Sequence[NodeView]) -> str:
    asked = [f"{resources.cpu} CPUs"] if resources.cpu else []
    asked += [f"{format_bytes(resources.memory_bytes)} of memory"] if resources.memory_bytes else []
    asked += [f"{format_gpus(resources.gpu_hundredths)} GPUs"] if resources.gpu_hundredths else []
    big = max(
        nodes, key=lambda node: (_coverage(resources, node), node.gpus, node.cpus, node.memory_bytes, node.written)
    )
    return (
        f"No node has {', '.join(asked)}: the largest, {big.written}, has {big.cpus} CPUs, "
        f"{format_bytes(big.memory_bytes)} of memory and {big.gpus} GPUs."
    )


def _coverage(resources: Resources, node: NodeView) -> float:
    """The smallest ratio of available to requested resources of the node; 1 if it has all."""
    amounts = (
        (node.gpus * WHOLE, resources.gpu_hundredths),
        (node.cpus, resources.cpu),
        (node.memory_bytes, resources.memory_bytes),
    )
    return min((min(1.0, has / wanted) for has, wanted in amounts if wanted), default=1.0)
