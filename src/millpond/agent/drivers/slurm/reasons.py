"""What Slurm's codes mean, in words: why a job waits, and why it ended."""

from __future__ import annotations

from millpond.agent.drivers.slurm.commands import SlurmJob

# Longest first where one is the beginning of another.
_REASONS = {
    "Resources": "it is next and waits for free resources",
    "Priority": "jobs with higher priority are ahead of it",
    "None": "Slurm has not considered it yet",
    "Dependency": "it depends on another job",
    "BeginTime": "its start time has not come",
    "ReqNodeNotAvail": "the nodes it needs are down, drained or reserved",
    "PartitionDown": "its partition does not accept jobs now",
    "PartitionInactive": "its partition does not accept jobs now",
    "PartitionNodeLimit": "it requests more nodes than its partition allows",
    "PartitionTimeLimit": "it requests more time than its partition allows",
    "PartitionConfig": "its partition does not allow what it requests",
    "BadConstraints": "no node has the resources it requests",
    "NodeDown": "a node it needs is down",
    "JobHeldAdmin": "it is held by an administrator of the cluster",
    "JobHeldUser": "it is held by its user (release it with `scontrol release`)",
    "Licenses": "it waits for a licence",
    "Reservation": "its reservation has not begun",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its quality of service is not valid",
    "AccountNotAllowed": "its account is not allowed in the partition",
    "QOSNotAllowed": "its quality of service is not allowed in the partition",
    "QOSUsageThreshold": "its quality of service has used up its quota",
    "QOSJobLimit": "its quality of service runs its maximum number of jobs",
    "QOSMaxJobs": "the account runs the maximum number of jobs of its quality of service",
    "QOSMaxGRES": "it requests more GPUs than its quality of service allows",
    "QOSMaxCpu": "it requests more CPUs than its quality of service allows at once",
    "QOSMaxMemory": "it requests more memory than its quality of service allows at once",
    "QOSMaxWall": "it requests more time than its quality of service allows",
    "QOSMax": "a limit of its quality of service is reached",
    "QOSGrp": "the users of its quality of service have used up their shared quota",
    "QOS": "a limit of its quality of service is reached",
    "AssocGrp": "its group has reached its limit",
    "AssocMax": "its account has reached its limit",
    "Assoc": "a limit of the account is reached",
    "MaxMemPerLimit": "it requests more memory than the cluster allows",
    "launch_failed_requeued_held": "it could not be launched; an administrator must release it",
    "Prolog": "the node is being prepared for it",
    "FrontEndDown": "the cluster's front end is down",
    "Cleaning": "a previous job is being cleaned up",
}

_ENDINGS = {
    "TIMEOUT": "The job exceeded its time limit in Slurm.",
    "DEADLINE": "The job missed its deadline in Slurm.",
    "OUT_OF_MEMORY": "The job was killed for exceeding its memory limit.",
    "NODE_FAIL": "The node failed while the job ran.",
    "BOOT_FAIL": "The node could not be booted for the job.",
    "PREEMPTED": "Slurm preempted the job for one of higher priority.",
    "CANCELLED": "The job was cancelled in Slurm{by}.",
    "REVOKED": "Slurm moved the job to another cluster.",
}


def waiting_words(job: SlurmJob) -> str:
    """`Priority` and the like, explained; Slurm's own word stays in sight, because administrators know that one."""
    if job.state == "CONFIGURING":
        return f"Slurm is starting {job.nodes or 'nodes'} for it"
    code = job.reason.strip("()") or "None"
    words = next((words for name, words in _by_length() if code.startswith(name)), None)
    if code == "None":
        return _REASONS["None"]
    return f"Slurm: {words} ({code})" if words else f"Slurm: {code}"


def ending_words(job: SlurmJob) -> str | None:
    """Why Slurm ended it; None when it ended by itself."""
    words = _ENDINGS.get(job.state)
    if words is None:
        return None
    words = words.format(by=f" by {job.cancelled_by}" if job.cancelled_by else "")
    if not job.nodes:
        return words
    return f"{words[:-1]} (on {job.nodes})."


def _by_length() -> list[tuple[str, str]]:
    return sorted(_REASONS.items(), key=lambda item: -len(item[0]))
