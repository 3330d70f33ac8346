"""``/api/preferences``: what the person who asks prefers."""

from __future__ import annotations

from fastapi import APIRouter

from wellread.serve.api.queries import REFUSED, Kb
from wellread.serve.features.asking.stored_answers import OWNER
from wellread.serve.features.learning.preference_views import (
    PreferencesBody,
    PreferencesChange,
    change_preferences,
    preferences_body,
)

router = APIRouter(responses=REFUSED)


@router.get("/api/preferences", response_model=PreferencesBody)
def preferences(kb: Kb) -> PreferencesBody:
    """What is set, what was learned and why, and the personas that can be chosen."""
    return preferences_body(kb, OWNER)


@router.patch("/api/preferences", response_model=PreferencesBody)
def change(kb: Kb, request: PreferencesChange) -> PreferencesBody:
    """Change what is given; give or withdraw consent; revoke what was learned."""
    change_preferences(kb, OWNER, request)
    return preferences_body(kb, OWNER)
