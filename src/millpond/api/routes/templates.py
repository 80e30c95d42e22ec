"""Templates: everybody sees them, administrators change them."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.template import Template, TemplateSpec
from millpond.services.computes import templates
from millpond.wire import templates as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/templates", tags=["templates"])


@router.get("")
def list_templates(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Template]:
    return page(templates.list_all(deps, limit=limit, cursor=cursor), _template)


@router.post("", status_code=201)
def create_template(body: wire.TemplateCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Template:
    """Refused if a template or queue has the name."""
    return _template(templates.create(deps, actor, body.name, _spec(body)))


@router.get("/{template}")
def get_template(template: str, actor: SignedIn, deps: DepsOf) -> wire.Template:
    return _template(templates.get(deps, template))


@router.put("/{template}")
def put_template(template: str, body: wire.TemplatePut, actor: SiteAdmin, deps: DepsOf) -> wire.Template:
    """New, or replaced as a whole. Queued jobs follow it; jobs that run keep what they have."""
    return _template(templates.put(deps, actor, template, _spec(body)))


@router.delete("/{template}", status_code=204)
def delete_template(template: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while a queue holds it, or queued jobs name it."""
    templates.remove(deps, actor, template)


def _spec(body: wire.TemplatePut) -> TemplateSpec:
    given = {name: getattr(body, name) for name in wire.TemplatePut.model_fields if name != "gpus"}
    return TemplateSpec(**given, gpu_hundredths=int(body.gpus * 100))


def _template(value: Template) -> wire.Template:
    spec = asdict(value.spec)
    return wire.Template(
        name=value.name,
        gpus=spec.pop("gpu_hundredths") / 100,
        **spec,
        created_at=value.created_at,
        created_by=value.created_by,
        changed_at=value.changed_at,
        changed_by=value.changed_by,
    )
