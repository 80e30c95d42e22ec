"""What Slurm's codes mean, in words: why a job waits, and why it ended."""

from __future__ import annotations

from millpond.agent.drivers.slurm.commands import SlurmJob

# Longest first where one is the beginning of another.
_REASONS = {
    "Resources": "it is next, and waits until enough of the cluster is free",
    "Priority": "other jobs of the cluster are before it",
    "None": "Slurm has not looked at it yet",
    "Dependency": "it waits for another job",
    "BeginTime": "its time has not come",
    "ReqNodeNotAvail": "the nodes it needs are down, drained or reserved",
    "PartitionDown": "its partition takes no jobs now",
    "PartitionInactive": "its partition takes no jobs now",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "PartitionConfig": "its partition does not allow what it asks for",
    "BadConstraints": "no node has what it asks for",
    "NodeDown": "a node it needs is down",
    "JobHeldAdmin": "an administrator of the cluster holds it back",
    "JobHeldUser": "it is held back by its account (`scontrol release` lets it go)",
    "Licenses": "it waits for a licence",
    "Reservation": "its reservation has not begun",
    "InvalidAccount": "the account it is charged to may not be used",
    "InvalidQOS": "its quality of service may not be used",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSNotAllowed": "its quality of service may not be used in the partition",
    "QOSUsageThreshold": "its quality of service has been used too much",
    "QOSJobLimit": "as many jobs of its quality of service run as may",
    "QOSMaxJobs": "as many of the account's jobs run as its quality of service allows",
    "QOSMaxGRES": "it asks for more GPUs than its quality of service allows",
    "QOSMaxCpu": "it asks for more CPUs than its quality of service allows at once",
    "QOSMaxMemory": "it asks for more memory than its quality of service allows at once",
    "QOSMaxWall": "it asks for more time than its quality of service allows",
    "QOSMax": "a limit of its quality of service is reached",
    "QOSGrp": "everybody who shares its quality of service has used what there is together",
    "QOS": "a limit of its quality of service is reached",
    "AssocGrp": "the group it is charged to has used what it may use at once",
    "AssocMax": "the account has used what it may use at once",
    "Assoc": "a limit of the account is reached",
    "MaxMemPerLimit": "it asks for more memory than the cluster allows",
    "launch_failed_requeued_held": "it could not be launched; an administrator must release it",
    "Prolog": "the node is being prepared for it",
    "FrontEndDown": "the cluster's front end is down",
    "Cleaning": "what ran before is being cleaned up",
}

_ENDINGS = {
    "TIMEOUT": "The job ran longer than Slurm allowed it to.",
    "DEADLINE": "The job did not end by its deadline in Slurm.",
    "OUT_OF_MEMORY": "The job used more memory than it was given, and was killed.",
    "NODE_FAIL": "The node failed while the job ran.",
    "BOOT_FAIL": "The node could not be started for the job.",
    "PREEMPTED": "Slurm took the job's place for one of higher priority.",
    "CANCELLED": "The job was cancelled in Slurm{by}.",
    "REVOKED": "Slurm gave the job to another cluster.",
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
