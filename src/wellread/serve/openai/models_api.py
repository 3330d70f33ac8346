"""``GET /v1/models``: what can be asked, by name."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter

from wellread.serve.guards.asking_rights import Kb
from wellread.serve.openai.model_names import model_names, named_model
from wellread.serve.views import PlainBody

router = APIRouter()


class ModelBody(PlainBody):
    """A model. ``created`` says nothing here: the material is as it is when it is asked."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "wellread"


class ModelsBody(PlainBody):
    """All models."""

    object: Literal["list"] = "list"
    data: tuple[ModelBody, ...]


@router.get("/v1/models", response_model=ModelsBody)
def models(kb: Kb) -> ModelsBody:
    """What can be asked: all material or one collection, with an answer or a report."""
    return ModelsBody(data=tuple(ModelBody(id=name) for name in model_names(kb)))


@router.get("/v1/models/{name:path}", response_model=ModelBody)
def model(kb: Kb, name: str) -> ModelBody:
    """One of them."""
    return ModelBody(id=named_model(kb, name).name)
