"""Learns preferences about sources from a user's own ratings, only with the user's consent."""

from __future__ import annotations

from dataclasses import replace

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.preference_records import StoredPreferences
from wellread.values.question import LearnedPreference, Preferences, SourceRule

LOW_SCORE, HIGH_SCORE = 30.0, 80.0  # ratings below the first or from the second count
MIN_RATINGS = 3  # rated answers that agree about a source


def refresh_preferences(kb: KnowledgeBase, owner: str) -> StoredPreferences:
    """Update and return the preferences of ``owner``.

    With consent, suggestions that ratings no longer support are removed; revoked ones stay revoked.
    """
    stored = kb.catalogue.preferences.of(owner)
    if not stored.consent:
        return stored
    revoked = {(pref.rule, pref.effect) for pref in stored.learned if pref.revoked}
    suggested = [
        replace(pref, revoked=(pref.rule, pref.effect) in revoked)
        for pref in _suggest_rules(kb, owner)
    ]
    current = {(pref.rule, pref.effect) for pref in suggested}
    still_revoked = [
        pref for pref in stored.learned if pref.revoked and (pref.rule, pref.effect) not in current
    ]
    updated = replace(stored, learned=(*suggested, *still_revoked))
    if updated != stored:
        kb.catalogue.preferences.put(owner, updated)
    return updated


def set_preferences(kb: KnowledgeBase, owner: str, chosen: Preferences) -> StoredPreferences:
    """Store the preferences that the user set."""
    kb.catalogue.preferences.put(owner, replace(kb.catalogue.preferences.of(owner), given=chosen))
    return refresh_preferences(kb, owner)


def set_consent(kb: KnowledgeBase, owner: str, consent: bool) -> StoredPreferences:
    """Set whether feedback may add to the preferences; without consent, suggestions are deleted."""
    stored = kb.catalogue.preferences.of(owner)
    learned = stored.learned if consent else ()
    kb.catalogue.preferences.put(owner, replace(stored, consent=consent, learned=learned))
    return refresh_preferences(kb, owner)


def revoke(
    kb: KnowledgeBase, owner: str, document_id: str, *, again: bool = False
) -> StoredPreferences:
    """Revoke what was learned about a document; ``again`` restores it."""
    stored = kb.catalogue.preferences.of(owner)
    if all(pref.rule.value != document_id for pref in stored.learned):
        raise RequestError(
            f"nothing was learned about {document_id!r}", hint="wellread preferences lists all"
        )
    learned = [
        replace(pref, revoked=not again) if pref.rule.value == document_id else pref
        for pref in stored.learned
    ]
    kb.catalogue.preferences.put(owner, replace(stored, learned=tuple(learned)))
    return refresh_preferences(kb, owner)


def _suggest_rules(kb: KnowledgeBase, owner: str) -> list[LearnedPreference]:
    """A suggestion for each document that enough of the person's ratings agree on."""
    rated = {
        entry.answer_id: entry.score
        for entry in kb.catalogue.feedback.list_all()
        if entry.author == owner and entry.score is not None and not entry.expired
    }
    scores: dict[str, list[float]] = {}
    for answer_id, document_ids in kb.catalogue.preferences.cited_by(rated).items():
        for document_id in document_ids:
            scores.setdefault(document_id, []).append(rated[answer_id])
    facts = kb.catalogue.facts(set(scores))
    suggestions = []
    for document_id, ratings in sorted(scores.items()):
        low = sum(rating < LOW_SCORE for rating in ratings)
        high = sum(rating >= HIGH_SCORE for rating in ratings)
        if document_id not in facts or max(low, high) < MIN_RATINGS or min(low, high):
            continue
        is_low = low > high
        suggestions.append(
            LearnedPreference(
                rule=SourceRule(kind="document", value=document_id),
                effect="lowered" if is_low else "preferred",
                why=f"because you rated {low or high} answers citing it "
                f"{f'below {LOW_SCORE:.0f}' if is_low else f'{HIGH_SCORE:.0f} or more'}",
            )
        )
    return suggestions
