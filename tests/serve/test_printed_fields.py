"""Every line by which a list or facts are printed names fields that go out of its values."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from wellread.learning.asking_again import RetriedQuestion
from wellread.learning.gap_clusters import GapCluster
from wellread.learning.question_patterns import Count, OftenAsked
from wellread.library.recheck import CitationCheck, SentenceCheck
from wellread.library.recordings import Recording, Transcript
from wellread.serve.cli import (
    answers_cli,
    home_cli,
    library_cli,
    material_cli,
    quality_cli,
    research_cli,
    team_cli,
)
from wellread.serve.features import (
    documents_found,
    entities_shown,
    figures,
    home_and_jobs,
    people,
    timelines_shown,
)
from wellread.serve.terminal import fields_of
from wellread.serve.views import FACES
from wellread.store.catalogue.asking.answer_records import SessionFacts
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.store.catalogue.documents.story_records import StoryItem
from wellread.store.catalogue.preference_records import Notice
from wellread.store.catalogue.run_logs import Job
from wellread.store.recovery.copies import CatalogueCopy
from wellread.store.schema import stored_values as stored

LINES: list[tuple[type, str]] = [
    (stored.StoredAnswer, answers_cli.ANSWERS),
    (SessionFacts, answers_cli.SESSIONS),
    (CitationCheck, answers_cli.CHECKED),
    (SentenceCheck, answers_cli.SENTENCES),
    (stored.Feedback, answers_cli.RATED),
    (stored.Feedback, answers_cli.FEEDBACK),
    (stored.SentenceRating, answers_cli.RATINGS),
    (Notice, answers_cli.NOTICES),
    (ListedDocument, library_cli.DOCUMENTS),
    (documents_found.WholeDocumentBody, library_cli.DOCUMENT),
    (Recording, library_cli.RECORDINGS),
    (Transcript, library_cli.RECORDING),
    (entities_shown.EntityLine, library_cli.ENTITIES),
    (entities_shown.EntityBody, library_cli.ENTITY),
    (Neighbour, library_cli.RELATIONS),
    (entities_shown.MentionBody, library_cli.MENTIONS),
    (timelines_shown.StoryLine, library_cli.STORIES),
    (timelines_shown.StoryDetail, library_cli.STORY),
    (stored.KindCount, material_cli.HOLDINGS),
    (Job, material_cli.JOBS),
    (home_and_jobs.JobDetailBody, material_cli.JOB),
    (GapCluster, quality_cli.GAPS),
    (stored.Gap, quality_cli.GAP),
    (RetriedQuestion, quality_cli.REASKED),
    (OftenAsked, quality_cli.OFTEN),
    (Count, quality_cli.COUNTED),
    (stored.Topic, quality_cli.COUNTED),
    (figures.MetricsBody, quality_cli.METRICS),
    (stored.AnswersPerPeriod, quality_cli.TREND),
    (stored.Latency, quality_cli.STEPS),
    (stored.ModelUsageTotal, quality_cli.CALLS),
    (research_cli.RunBody, research_cli.RUNS),
    (research_cli.RunBody, research_cli.RUN),
    (people.UserBody, team_cli.USERS),
    (stored.UserGroup, team_cli.GROUPS),
    (stored.Grant, team_cli.GRANTS),
    (stored.ApiKey, team_cli.KEYS),
    (stored.AuditEntry, team_cli.DEEDS),
    (people.ForgottenBody, team_cli.FORGOTTEN),
    (CatalogueCopy, home_cli.COPIES),
    (StoryItem, library_cli.NEWS),
    (timelines_shown.Period, library_cli.PERIODS),
]


@pytest.mark.parametrize(("kind", "line"), LINES)
def test_what_a_line_names_goes_out(kind: type, line: str) -> None:
    for _, path, _ in fields_of(line):
        held: object = kind
        for name in path.split("."):
            (shown,) = [
                one
                for one in (held, *get_args(held))
                if isinstance(one, type) and dataclasses.is_dataclass(one)
            ]
            going_out = {each.name: each.hint for each in FACES._of(shown)}
            assert name in going_out, f"{kind.__name__} shows no {path}"
            held = going_out[name]
