"""What registered models and their versions share: MLflow's words for them, how they are named, and their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from millpond.api.mlflow.endpoint import Call
from millpond.api.mlflow.errors import NotOffered
from millpond.api.mlflow.shapes import milliseconds, pairs
from millpond.decide.models import version_number
from millpond.errors import BadName, Invalid, NameTaken, NotFound
from millpond.model.model import ModelStage, ModelVersionView, ModelView
from millpond.model.names import MOST_MODEL_NAME

_PROMPT_TAG = "mlflow.prompt.is_prompt"


def name_of(call: Call, field: str = "name") -> str:
    """Of a registered model."""
    name = call.optional(field)
    if not name:
        raise Invalid(f"Registered model name cannot be empty: parameter '{field}'.", fields=[field])
    return name


def version_of(call: Call) -> str:
    """A version's number as text; aliases are no versions here."""
    text = call.text("version")
    if version_number(text) is None:
        raise Invalid(f"Parameter 'version' must be an integer, got '{text[:100]}'.", fields=["version"])
    return text


def stage_of(text: str) -> ModelStage:
    found = next((stage for stage in ModelStage if stage.value.lower() == text.lower()), None)
    if found is None:
        known = ", ".join(stage.value for stage in ModelStage)
        raise Invalid(f"Invalid Model Version stage: {text[:100]}. Value must be one of {known}.", fields=["stage"])
    return found


def refuse_prompts(call: Call) -> None:
    """Prompts of MLflow are models with a tag."""
    if _PROMPT_TAG in call.pairs("tags"):
        raise NotOffered("Millpond does not offer prompts of MLflow's API.")


@contextmanager
def in_mlflows_words(name: str, version: str | None = None) -> Iterator[None]:
    """Errors about this model or version as MLflow's server says them: scripts compare the texts."""
    try:
        yield
    except NotFound as error:
        noun = error.details.get("noun")
        if noun == "model":
            raise NotFound(f"Registered Model with name={name} not found.", hint=error.hint, noun=noun) from error
        if noun == "version" and version is not None:
            message = f"Model Version (name={name}, version={version}) not found."
            raise NotFound(message, hint=error.hint, noun=noun) from error
        raise
    except NameTaken as error:
        taken = error.details.get("name", name)
        raise NameTaken(f"Registered Model (name={taken}) already exists.", name=taken) from error
    except BadName as error:
        if len(name) > MOST_MODEL_NAME:
            raise BadName(
                f"Registered model name exceeds the maximum length of {MOST_MODEL_NAME} characters."
            ) from error
        raise


def registered_model(view: ModelView, versions: Sequence[ModelVersionView]) -> dict[str, Any]:
    """`versions` are the newest of each stage."""
    model = view.model
    return {
        "name": model.name,
        "creation_timestamp": milliseconds(model.dataset.created_at),
        "last_updated_timestamp": milliseconds(model.changed_at),
        "user_id": model.dataset.created_by,
        "description": model.dataset.description,
        "latest_versions": [model_version(one) for one in versions],
        "tags": pairs(model.tags),
        "aliases": [{"alias": alias, "version": str(number)} for alias, number in view.aliases.items()],
    }


def model_version(view: ModelVersionView) -> dict[str, Any]:
    version, facts = view.version, view.facts
    found: dict[str, Any] = {
        "name": view.model,
        "version": str(version.number),
        "creation_timestamp": milliseconds(view.commit.time),
        "last_updated_timestamp": milliseconds(version.changed_at),
        "user_id": view.commit.author,
        "current_stage": version.stage.value,
        "description": version.description,
        "source": facts.source,
        "run_id": facts.run_id or "",
        "run_link": facts.run_link,
        "status": "READY",
        "tags": pairs(version.tags),
        "aliases": list(view.aliases),
    }
    return found | ({"model_id": facts.logged_model} if facts.logged_model else {})
