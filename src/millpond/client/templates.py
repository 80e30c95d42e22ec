"""Templates and queues, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.wire.templates import Queue, QueueCreate, QueuePut, Template, TemplateCreate, TemplatePut


def list_templates(api: Api) -> Iterator[Template]:
    return api.items("/templates", Template)


def get_template(api: Api, name: str) -> Template:
    return api.get(f"/templates/{segment(name)}", Template)


def create_template(api: Api, template: TemplateCreate) -> Template:
    """NameTaken if a template or queue has the name."""
    return api.send("POST", "/templates", Template, template)


def put_template(api: Api, name: str, template: TemplatePut) -> Template:
    """New, or replaced as a whole."""
    return api.send("PUT", f"/templates/{segment(name)}", Template, template)


def remove_template(api: Api, name: str) -> None:
    api.request("DELETE", f"/templates/{segment(name)}")


def list_queues(api: Api) -> Iterator[Queue]:
    return api.items("/queues", Queue)


def get_queue(api: Api, name: str) -> Queue:
    return api.get(f"/queues/{segment(name)}", Queue)


def create_queue(api: Api, queue: QueueCreate) -> Queue:
    """NameTaken if a template or queue has the name."""
    return api.send("POST", "/queues", Queue, queue)


def put_queue(api: Api, name: str, queue: QueuePut) -> Queue:
    """New, or replaced as a whole."""
    return api.send("PUT", f"/queues/{segment(name)}", Queue, queue)


def remove_queue(api: Api, name: str) -> None:
    api.request("DELETE", f"/queues/{segment(name)}")
