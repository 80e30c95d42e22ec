"""Stands in for aws, gcloud, az and sky: takes the documented arguments and no others, answers in the documented form.

Run as one of them (the name it is called by), it keeps its machines in the file $FAKE_CLOUD.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

PROGRAMS = ("aws", "gcloud", "az", "sky")
STATE = Path(os.environ.get("FAKE_CLOUD", "/dev/null"))


def load() -> dict[str, Any]:
    return json.loads(STATE.read_text()) if STATE.exists() else {}


def save(machines: dict[str, Any]) -> None:
    STATE.write_text(json.dumps(machines))


def arguments(
    words: list[str], needed: tuple[str, ...], *, several: tuple[str, ...] = (), **known: Any
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in needed:
        parser.add_argument(f"--{name}", required=True, nargs="+" if name in several else None)
    for name, options in known.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
    return parser.parse_args(words)


def fail(words: str) -> NoReturn:
    sys.stderr.write(words + "\n")
    sys.exit(1)


FLAG: dict[str, Any] = {"action": "store_true"}
ONE: dict[str, Any] = {}
MANY: dict[str, Any] = {"nargs": "+"}


def aws(words: list[str]) -> object:
    machines = load()
    match words[:2]:
        case ["ec2", "run-instances"]:
            told = arguments(
                words[2:], ("image-id", "instance-type", "client-token", "tag-specifications", "user-data", "output"),
                several=("tag-specifications",), count=ONE, region=ONE, subnet_id=ONE, security_group_ids=MANY,
                iam_instance_profile=ONE, instance_market_options=ONE, block_device_mappings=ONE,
                instance_initiated_shutdown_behavior={"choices": ["stop", "terminate"]},
            )  # fmt: skip
            script = Path(told.user_data.removeprefix("file://")).read_text()
            tags = re.findall(r"{Key=([^,]+),Value=([^}]*)}", told.tag_specifications[0])
            if told.client_token not in machines:
                instance = {"InstanceId": f"i-{len(machines):017x}", "State": {"Code": 0, "Name": "pending"}}
                instance["Tags"] = [{"Key": key, "Value": value} for key, value in tags]
                machines[told.client_token] = {"instance": instance, "script": script, "asked": words}
            save(machines)
            return {"ReservationId": "r-1", "Instances": [machines[told.client_token]["instance"]]}
        case ["ec2", "describe-instances"]:
            told = arguments(words[2:], ("filters", "output"), several=("filters",), region=ONE)
            wanted = [re.fullmatch(r"Name=([^,]+),Values=(.+)", one) for one in told.filters]
            found = [
                one["instance"] for one in machines.values() if all(_aws_matches(one["instance"], w) for w in wanted)
            ]
            return {"Reservations": [{"ReservationId": "r-1", "Instances": [one]} for one in found]}
        case ["ec2", "terminate-instances"]:
            told = arguments(words[2:], ("instance-ids", "output"), several=("instance-ids",), region=ONE)
            save({key: one for key, one in machines.items() if one["instance"]["InstanceId"] not in told.instance_ids})
            return {"TerminatingInstances": [{"InstanceId": one} for one in told.instance_ids]}
    fail(f"aws: error: argument operation: Invalid choice: {words}")


def _aws_matches(instance: dict[str, Any], wanted: re.Match[str] | None) -> bool:
    if wanted is None:
        fail("An error occurred (InvalidParameterValue)")
    name, values = wanted[1], wanted[2].split(",")
    if name == "instance-state-name":
        return instance["State"]["Name"] in values
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    return tags.get(name.removeprefix("tag:")) in values


def gcloud(words: list[str]) -> object:
    machines = load()
    match words[:3]:
        case ["compute", "instances", "create"]:
            name = words[3]
            told = arguments(
                words[4:], ("project", "zone", "machine-type", "labels", "metadata-from-file", "format"), quiet=FLAG,
                image_family=ONE, image_project=ONE, accelerator=ONE,
                maintenance_policy={"choices": ["MIGRATE", "TERMINATE"]},
                provisioning_model={"choices": ["SPOT", "STANDARD"]}, boot_disk_size=ONE,
                instance_termination_action={"choices": ["DELETE", "STOP"]},
            )  # fmt: skip
            if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name):
                fail("ERROR: (gcloud.compute.instances.create) Could not fetch resource: Invalid value for field")
            labels = dict(one.split("=", 1) for one in told.labels.split(","))
            script = Path(told.metadata_from_file.removeprefix("startup-script=")).read_text()
            machines[name] = {
                "instance": {"name": name, "status": "RUNNING", "labels": labels},
                "script": script,
                "asked": words,
            }
            save(machines)
            return [machines[name]["instance"]]
        case ["compute", "instances", "list"]:
            told = arguments(words[3:], ("project", "filter", "format"))
            wanted = dict(one.removeprefix("labels.").split("=", 1) for one in told.filter.split(" AND "))
            return [one["instance"] for one in machines.values() if wanted.items() <= one["instance"]["labels"].items()]
        case ["compute", "instances", "delete"]:
            arguments(words[4:], ("project", "zone"), quiet=FLAG)
            if words[3] not in machines:
                fail(f"ERROR: (gcloud.compute.instances.delete) - The resource 'instances/{words[3]}' was not found")
            del machines[words[3]]
            save(machines)
            return None
    fail("ERROR: (gcloud) Invalid choice")


def az(words: list[str]) -> object:
    machines = load()
    match words[:2]:
        case ["vm", "create"]:
            told = arguments(
                words[2:], ("resource-group", "name", "image", "size", "tags", "custom-data", "output"),
                several=("tags",), admin_username=ONE, generate_ssh_keys=FLAG, public_ip_address=ONE, nsg=ONE,
                location=ONE, subnet=ONE,
                os_disk_delete_option={"choices": ["Delete", "Detach"]}, os_disk_size_gb=ONE,
                nic_delete_option={"choices": ["Delete", "Detach"]}, priority={"choices": ["Low", "Regular", "Spot"]},
                eviction_policy={"choices": ["Deallocate", "Delete"]},
            )  # fmt: skip
            machine = {
                "name": told.name,
                "tags": dict(one.split("=", 1) for one in told.tags),
                "provisioningState": "Succeeded",
            }
            machines[told.name] = {"machine": machine, "script": Path(told.custom_data).read_text(), "asked": words}
            save(machines)
            return {"powerState": "VM running", "id": f"/subscriptions/s/virtualMachines/{told.name}"}
        case ["vm", "list"]:
            arguments(words[2:], ("resource-group", "output"))
            return [*({"name": "somebody-elses", "tags": None},), *(one["machine"] for one in machines.values())]
        case ["vm", "delete"]:
            told = arguments(words[2:], ("resource-group", "name"), yes=FLAG)
            if told.name not in machines:
                fail(f"(ResourceNotFound) The Resource 'Microsoft.Compute/virtualMachines/{told.name}' was not found.")
            del machines[told.name]
            save(machines)
            return None
    fail("az: 'vm' is misspelled or not recognized by the system.")


def sky(words: list[str]) -> None:
    machines = load()
    match words[0]:
        case "launch":
            told = arguments(words[1:-1], ("cluster", "env"), yes=FLAG, detach_run=FLAG)
            task = json.loads(Path(words[-1]).read_text())
            script = f"{task['setup']}\n{task['run']}".replace("$" + told.env, os.environ[told.env])
            machines[told.cluster] = {"script": script, "asked": words, "task": task}
            save(machines)
        case "status":
            arguments(words[1:], (), refresh=FLAG)
            head = "Clusters\nNAME                 INFRA            RESOURCES          STATUS  AUTOSTOP  LAUNCHED\n"
            rows = "".join(
                f"{name}  AWS (us-east-1)  1x(cpus=4, ...)    UP      -         1 min ago\n" for name in machines
            )
            sys.stdout.write(
                f"{head}my-own-cluster  AWS (us-east-1)  1x(cpus=4, ...)    UP      -         1 hr ago\n{rows}"
            )
        case "down":
            if words[2] not in machines:
                fail(f"Cluster(s) not found: '{words[2]}'")
            del machines[words[2]]
            save(machines)
        case _:
            fail("No such command")


if __name__ == "__main__":
    program = Path(sys.argv[0]).name
    result = {"aws": aws, "gcloud": gcloud, "az": az, "sky": sky}[program](sys.argv[1:])
    if result is not None:
        json.dump(result, sys.stdout, indent=2)
