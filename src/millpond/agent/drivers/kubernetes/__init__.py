"""Jobs as pods of a Kubernetes cluster."""

from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.kubernetes.access import find_access
from millpond.agent.drivers.kubernetes.api import KubeApi
from millpond.agent.drivers.kubernetes.driver import KubernetesDriver
from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.agent.drivers.options import Given, checked

__all__ = ["KubernetesDriver", "open_driver"]


def open_driver(machine: AgentMachine, options: Given) -> KubernetesDriver:
    told = checked(KubernetesOptions, options, "kubernetes")
    access = find_access(told.kubeconfig, told.context)
    return KubernetesDriver(KubeApi(access), told, told.namespace or access.namespace, machine.node)
