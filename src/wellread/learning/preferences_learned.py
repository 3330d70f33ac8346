"""What a person's own ratings suggest about sources. Nothing is looked at without their consent."""

from __future__ import annotations

from dataclasses import replace

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.preference_records import KeptPreferences
from wellread.values.question import LearnedPreference, Preferences, SourceRule

LOW, HIGH = 30.0, 80.0  # a rating below or from which an answer says something of its sources
LEAST = 3  # answers that say the same of a source


def refreshed(kb: KnowledgeBase, owner: str) -> KeptPreferences:
    """What is kept of ``owner``, with what their ratings suggest now where they consented.

    What was revoked stays so. A suggestion that the ratings no longer bear out goes.
    """
    kept = kb.catalogue.preferences.of(owner)
    if not kept.consent:
        return kept
    revoked = {(one.rule, one.effect) for one in kept.learned if one.revoked}
    found = [replace(one, revoked=(one.rule, one.effect) in revoked) for one in _said(kb, owner)]
    held = {(one.rule, one.effect) for one in found}
    rest = [one for one in kept.learned if one.revoked and (one.rule, one.effect) not in held]
    new = replace(kept, learned=(*found, *rest))
    if new != kept:
        kb.catalogue.preferences.put(owner, new)
    return new


def set_preferences(kb: KnowledgeBase, owner: str, given: Preferences) -> KeptPreferences:
    """Keep what the person set."""
    kb.catalogue.preferences.put(owner, replace(kb.catalogue.preferences.of(owner), given=given))
    return refreshed(kb, owner)


def set_consent(kb: KnowledgeBase, owner: str, consent: bool) -> KeptPreferences:
    """Let feedback add to the preferences, or not any more; then what was learned is dropped."""
    kept = kb.catalogue.preferences.of(owner)
    learned = kept.learned if consent else ()
    kb.catalogue.preferences.put(owner, replace(kept, consent=consent, learned=learned))
    return refreshed(kb, owner)


def revoke(
    kb: KnowledgeBase, owner: str, document_id: str, *, again: bool = False
) -> KeptPreferences:
    """Take back what was learned about a document; ``again``: let it hold after all."""
    kept = kb.catalogue.preferences.of(owner)
    if all(one.rule.value != document_id for one in kept.learned):
        raise RequestError(
            f"nothing was learned about {document_id!r}", hint="wellread preferences lists all"
        )
    learned = [
        replace(one, revoked=not again) if one.rule.value == document_id else one
        for one in kept.learned
    ]
    kb.catalogue.preferences.put(owner, replace(kept, learned=tuple(learned)))
    return refreshed(kb, owner)


def _said(kb: KnowledgeBase, owner: str) -> list[LearnedPreference]:
    """A suggestion for each document that enough of the person's ratings agree on."""
    rated = {
        one.answer_id: one.score
        for one in kb.catalogue.feedback.every()
        if one.author == owner and one.score is not None and not one.expired
    }
    scores: dict[str, list[float]] = {}
    for answer_id, document_ids in kb.catalogue.preferences.cited_by(rated).items():
        for document_id in document_ids:
            scores.setdefault(document_id, []).append(rated[answer_id])
    facts = kb.catalogue.facts(set(scores))
    found = []
    for document_id, given in sorted(scores.items()):
        low, high = sum(one < LOW for one in given), sum(one >= HIGH for one in given)
        if document_id not in facts or max(low, high) < LEAST or min(low, high):
            continue
        down = low > high
        found.append(
            LearnedPreference(
                rule=SourceRule(kind="document", value=document_id),
                effect="lowered" if down else "preferred",
                why=f"because you rated {low or high} answers citing it "
                f"{f'below {LOW:.0f}' if down else f'{HIGH:.0f} or more'}",
            )
        )
    return found
