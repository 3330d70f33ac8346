"""What a stranger sends to each route: what is theirs, and by its names what is not.

``{f_…}`` stands for a name of something foreign (``foreign_names``), ``{o_…}`` for one of the
stranger's own things. A route without a request here fails the test.
"""

from __future__ import annotations

import re
from typing import Any

Example = dict[str, Any]
ASKED = "When does the ferry leave on Sundays?"
WIDE = "What do the documents say about the ferry Osprey and quixomel?"
SCOPES: tuple[dict[str, str], ...] = (
    {},
    {"collection": "obsidianvault"},
    {"topic": "obsidianvault"},
)


def get(path: str, *queries: dict[str, Any]) -> list[Example]:
    """Reads of a path with each of the queries."""
    return [{"path": path, "params": query} for query in queries or ({},)]


def page(path: str, *queries: dict[str, Any]) -> list[Example]:
    """The same, as a page."""
    return [{**one, "headers": {"accept": "text/html"}} for one in get(path, *queries)]


def post(path: str, *bodies: Any) -> list[Example]:
    """JSON bodies sent to a path."""
    return [{"path": path, "json": body} for body in bodies or (None,)]


def form(path: str, *fields: dict[str, Any]) -> list[Example]:
    """Forms sent to a path."""
    return [{"path": path, "data": each} for each in fields or ({},)]


def scoped(path: str, **query: Any) -> list[Example]:
    """A look-up in all of what may be read, and in the foreign collection by its name."""
    return get(path, *({**query, **scope} for scope in SCOPES))


def ids(path: str, *kinds: str) -> list[str]:
    """The path with each of these names."""
    return [path.format(kind) for kind in kinds]


FEEDBACK = {"score": 50, "comment": "fine"}
BETTER = {"score": 50, "citations": [{"documentId": "{f_document}", "start": 0, "end": 20}]}

EXAMPLES: dict[str, list[Example]] = {
    "POST /api/ask": post(
        "/api/ask",
        {"question": ASKED},
        {"question": WIDE, "options": {"explain": True}},
        {"question": "How many documents are there?"},
        {"question": "Who owns the Osprey?"},
        {"question": "What is Marquemoth?"},
        {"question": "What did Tib Wroomstead say about the engine?"},
        {"question": "What happened to the ferry in January 2026?"},
        {"question": "And on Mondays?", "sessionId": "{f_session}"},
        {"question": ASKED, "topicId": "obsidianvault"},
        {"question": ASKED, "stream": True},
        {"question": WIDE, "mode": "deep"},
        {"question": ASKED, "owner": "rivalowner"},
    ),
    "POST /api/query": post(
        "/api/query", {"question": ASKED}, {"question": WIDE, "session_id": "{f_session}"}
    ),
    "POST /api/query/deep": post("/api/query/deep", {"question": WIDE}),
    "GET /api/answers": get("/api/answers", {"limit": 1000}),
    "GET /api/answers/{answer_id}": get("/api/answers/{f_answer}")
    + get("/api/answers/{f_local_answer}")
    + get("/api/answers/{o_answer}")
    + get("/api/answers/last"),
    "POST /api/answers/{answer_id}/verify": post("/api/answers/{f_answer}/verify")
    + post("/api/answers/{o_answer}/verify"),
    "GET /api/answers/{answer_id}/export": get("/api/answers/{f_answer}/export")
    + get("/api/answers/{o_answer}/export"),
    "GET /api/sessions": get("/api/sessions", {}, {"query": "plinkerby"}),
    "GET /api/sessions/{session_id}": get("/api/sessions/{f_session}")
    + get("/api/sessions/{o_session}"),
    "DELETE /api/sessions/{session_id}": get("/api/sessions/{f_session}"),
    "GET /api/jobs": get("/api/jobs"),
    "GET /api/jobs/{job_id}": get("/api/jobs/{f_job}"),
    "POST /api/jobs/{job_id}/cancel": post("/api/jobs/{f_job}/cancel"),
    "GET /api/usage": get("/api/usage"),
    "GET /healthz": get("/healthz"),
    "GET /api/entities/{name:path}": scoped("/api/entities/Marquemoth")
    + scoped("/api/entities/Osprey")
    + get("/api/entities/ferry/marquemoth"),
    "GET /api/entities": scoped("/api/entities", query="")
    + get("/api/entities", {"type": "airship"}),
    "GET /api/stories": scoped("/api/stories") + get("/api/stories", {"query": "Marquemoth tug"}),
    "GET /api/search": scoped("/api/search", query="the engine of the ferry Osprey")
    + get("/api/search", {"query": "quixomel"}, {"query": "ferry", "mode": "text"})
    + get(
        "/api/search",
        {"query": "ferry", "mode": "vector"},
        {"query": "ferry", "author": "Petra Krannick"},
    ),
    "GET /api/search/speaker/{name:path}": get("/api/search/speaker/Tib Wroomstead")
    + get("/api/search/speaker/Ana Holm"),
    "GET /api/search/date-range": scoped("/api/search/date-range", start="2026"),
    "GET /api/segments/{passage_id}/context": get("/api/segments/{f_passage}/context"),
    "GET /api/similar": scoped("/api/similar", question=ASKED, rating=0, compare="gt"),
    "GET /api/documents": scoped("/api/documents")
    + get("/api/documents", {"offset": 5, "limit": 5}),
    "GET /api/documents/{name:path}": get("/api/documents/{f_document}")
    + get("/api/documents/{f_uri}")
    + get("/api/documents/The Vandrokh ferry")
    + get("/api/documents/The ferry"),
    "POST /api/documents": post(
        "/api/documents",
        {"title": "t", "text": "x", "collection": "obsidianvault"},
        {"url": "http://127.0.0.1:9/x", "collection": "obsidianvault"},
    ),
    "PUT /api/documents": post(
        "/api/documents", {"title": "t", "text": "x", "collection": "obsidianvault"}
    ),
    "PATCH /api/documents/{name:path}": post(
        "/api/documents/{f_document}", {"title": "Mine"}, {"collection": "harbour"}
    )
    + post("/api/documents/{o_document}", {"collection": "obsidianvault"}),
    "DELETE /api/documents/{name:path}": get("/api/documents/{f_document}"),
    "GET /api/collections": get("/api/collections"),
    "POST /api/collections": post("/api/collections", {"name": "obsidianvault"}),
    "PATCH /api/collections/{name:path}": post(
        "/api/collections/obsidianvault",
        {"description": "mine"},
        {"name": "harbour", "merge": True},
    )
    + post("/api/collections/harbour", {"name": "obsidianvault", "merge": True}),
    "DELETE /api/collections/{name:path}": get("/api/collections/obsidianvault"),
    "GET /api/videos": scoped("/api/videos"),
    "GET /api/videos/{name:path}/transcript": get("/api/videos/{f_recording}/transcript")
    + get("/api/videos/Harbour meeting/transcript"),
    "GET /api/topics": scoped("/api/topics"),
    "GET /api/topics/{name:path}/timeline": get("/api/topics/obsidianvault/timeline")
    + get("/api/topics/harbour/timeline")
    + get("/api/topics/{f_story}/timeline")
    + get("/api/topics/Marquemoth/timeline"),
    "PUT /api/answers/{answer_id}/feedback": post("/api/answers/{f_answer}/feedback", FEEDBACK)
    + post(
        "/api/answers/{o_answer}/feedback", BETTER, {**FEEDBACK, "author": "rivalowner"}, FEEDBACK
    ),
    "PATCH /api/answers/{answer_id}/feedback": post("/api/answers/{f_answer}/feedback", FEEDBACK),
    "GET /api/answers/{answer_id}/feedback": get("/api/answers/{f_answer}/feedback")
    + get("/api/answers/{o_answer}/feedback"),
    "DELETE /api/answers/{answer_id}/feedback": get("/api/answers/{f_answer}/feedback"),
    "GET /api/feedback": get("/api/feedback"),
    "GET /api/gaps": get("/api/gaps"),
    "POST /api/gaps/ask": post("/api/gaps/ask"),
    "GET /api/gaps/{cluster_id}": get("/api/gaps/{f_gap}") + get("/api/gaps/c{f_gap}"),
    "GET /api/gaps/{cluster_id}/suggestion": get("/api/gaps/{f_gap}/suggestion"),
    "PATCH /api/gaps/{gap_id}": post("/api/gaps/{f_gap}", {"status": "closed"}),
    "GET /api/questions/patterns": get("/api/questions/patterns"),
    "GET /api/coverage": scoped("/api/coverage"),
    "GET /api/metrics": get("/api/metrics", {"period": "all"}),
    "GET /metrics": get("/metrics"),
    "GET /api/preferences": get("/api/preferences"),
    "PATCH /api/preferences": post(
        "/api/preferences", {"preferred": ["{f_document}"]}, {"length": "short"}
    ),
    "GET /v1/models": get("/v1/models"),
    "GET /v1/models/{name:path}": get("/v1/models/wellread/obsidianvault")
    + get("/v1/models/wellread/harbour"),
    "POST /v1/chat/completions": post(
        "/v1/chat/completions",
        {
            "model": "wellread",
            "messages": [{"role": "user", "content": ASKED}],
            "user": "rivalowner",
        },
        {"model": "wellread/obsidianvault", "messages": [{"role": "user", "content": ASKED}]},
    ),
    "GET /": page("/", {}, {"session": "{f_session}"})
    + get("/", {"q": ASKED, "collection": "obsidianvault"}),
    "GET /app/ask": get("/app/ask", {"q": ASKED, "collection": "obsidianvault"}),
    "GET /ask/{run_id}": page("/ask/nosuchrun"),
    "GET /ask/{run_id}/wait": get("/ask/{f_ask}/wait"),
    "POST /ask/{run_id}/cancel": form("/ask/{f_ask}/cancel"),
    "GET /ask/{run_id}/events": get("/ask/{f_ask}/events"),
    "GET /research": page(
        "/research",
        {},
        {"q": WIDE},
        {"q": "And on Mondays?", "session": "{f_session}"},
        {"q": ASKED, "collection": "obsidianvault"},
    ),
    "POST /research": form(
        "/research?q=quixomel&collection=obsidianvault", {"keep": "f1", "added": "quixomel"}
    ),
    "GET /research/{run_id}": page("/research/{f_run}", {}, {"pane": True}),
    "POST /research/{run_id}/start": form("/research/{f_run}/start"),
    "POST /research/{run_id}/cancel": form("/research/{f_run}/cancel"),
    "POST /research/{run_id}/remove": form("/research/{f_run}/remove"),
    "GET /answers/{answer_id}": page("/answers/{f_answer}") + page("/answers/{o_answer}"),
    "POST /answers/{answer_id}/verify": form("/answers/{f_answer}/verify"),
    "POST /answers/{answer_id}/feedback": form("/answers/{f_answer}/feedback", {"score": "5"}),
    "POST /answers/{answer_id}/rate": form("/answers/{f_answer}/rate", {"score": "100"}),
    "POST /answers/{answer_id}/feedback/remove": form("/answers/{f_answer}/feedback/remove"),
    "GET /conversations": page("/conversations", {}, {"query": "plinkerby"}),
    "GET /conversations/{session_id}": page("/conversations/{f_session}"),
    "POST /conversations/{session_id}/rename": form(
        "/conversations/{f_session}/rename", {"title": "taken"}
    ),
    "POST /conversations/{session_id}/remove": form("/conversations/{f_session}/remove"),
    "GET /view/{document_id}": page(
        "/view/{f_document}",
        {},
        {"answer": "{f_answer}", "citation": 1},
        {"version": "{f_version}", "start": 0, "end": 20},
    )
    + page("/view/{o_document}"),
    "GET /documents/{document_id}/pages/{number}.png": get("/documents/{f_document}/pages/1.png"),
    "GET /documents/{document_id}/media": get("/documents/{f_recording}/media"),
    "GET /library": page(
        "/library", {}, {"collection": "obsidianvault"}, {"author": "Petra Krannick"}
    ),
    "GET /library/add": [{"path": "/library/add", "headers": {"accept": "text/html"}}],
    "POST /library/upload": [
        {
            "path": "/library/upload",
            "data": {"collection": "obsidianvault"},
            "files": {"files": ("a.md", b"# a\n\nwords")},
        }
    ],
    "POST /library/address": form(
        "/library/address",
        {"address": "/etc/hostname", "collection": "harbour"},
        {"address": "http://127.0.0.1:9/x", "collection": "obsidianvault"},
    ),
    "POST /library/text": form(
        "/library/text", {"title": "t", "text": "x", "collection": "obsidianvault"}
    ),
    "POST /library/sample": form("/library/sample"),
    "POST /library/remove": form(
        "/library/remove",
        {"source": "{f_document}", "collection": "obsidianvault"},
        {"source": "{f_document}", "collection": "harbour"},
        {"source": "{f_uri}", "collection": "harbour"},
        {"document": "{f_document}"},
    ),
    "GET /library/selected": page(
        "/library/selected",
        {"document": "{f_document}", "action": "move"},
        {"document": "{f_document}", "action": "remove"},
        {"document": "{o_document}", "action": "move"},
    ),
    "POST /library/move": form(
        "/library/move",
        {"document": "{f_document}", "collection": "harbour"},
        {"document": "{o_document}", "collection": "obsidianvault"},
    ),
    "GET /library/collections": page("/library/collections", {}, {"name": "obsidianvault"}),
    "POST /library/collections": form("/library/collections", {"name": "obsidianvault"}),
    "POST /library/collections/change": form(
        "/library/collections/change",
        {"collection": "obsidianvault", "description": "mine"},
        {"collection": "obsidianvault", "name": "harbour", "merge": "true"},
        {"collection": "harbour", "name": "obsidianvault", "merge": "true"},
    ),
    "POST /library/collections/remove": form(
        "/library/collections/remove", {"collection": "obsidianvault"}
    ),
    "GET /library/jobs": page("/library/jobs", {}, {"pane": True}),
    "GET /library/jobs/{job_id}": page("/library/jobs/{f_job}"),
    "POST /library/jobs/{job_id}/cancel": form("/library/jobs/{f_job}/cancel"),
    "POST /library/jobs/{job_id}/retry": form("/library/jobs/{f_job}/retry"),
    "GET /search": page("/search", {}, {"query": "the engine of the ferry"}, {"query": "quixomel"}),
    "GET /stories": page("/stories", {}, {"collection": "obsidianvault"}),
    "GET /stories/{story_id}": page("/stories/{f_story}"),
    "GET /entities": page("/entities", {}, {"query": "marque"}),
    "GET /entities/{name:path}": page("/entities/Marquemoth") + page("/entities/Osprey"),
    "GET /media": page(
        "/media", {}, {"collection": "obsidianvault"}, {"speaker": "Tib Wroomstead"}
    ),
    "GET /timelines": page(
        "/timelines",
        {},
        {"name": "obsidianvault"},
        {"name": "Marquemoth"},
        {"name": "Osprey", "collection": "obsidianvault"},
    ),
    "GET /coverage": page("/coverage", {}, {"collection": "obsidianvault"}),
    "GET /gaps": page("/gaps"),
    "GET /gaps/{cluster_id}": page("/gaps/{f_gap}"),
    "POST /gaps/{gap_id}/status": form(
        "/gaps/{f_gap}/status", {"status": "closed", "cluster": "{f_gap}"}
    ),
    "GET /figures": page("/figures"),
    "GET /preferences": page("/preferences"),
    "POST /preferences": form(
        "/preferences",
        {"preferred": "{f_document}"},
        {"effect": "muted", "rule_kind": "document", "rule": "The Vandrokh ferry"},
    ),
    "POST /preferences/theme": form("/preferences/theme", {"theme": "dark"}),
    "POST /preferences/learned": form("/preferences/learned", {"consent": "yes"}),
    "GET /usage": page("/usage"),
    "GET /settings": page("/settings", {}, {"find": "quixomel"}),
    "POST /settings": form("/settings", {"preset": "none"}),
    "POST /settings/test": form("/settings/test"),
    "GET /health": page("/health"),
    "POST /health": form("/health"),
    "GET /users": page("/users"),
    "POST /users": form("/users", {"name": "new", "password": "a pier in fog", "role": "reader"}),
    "GET /users/{user_id}": page("/users/usr_nobody"),
    "POST /users/{user_id}": form("/users/usr_nobody", {"role": "admin"}),
    "GET /docs": page("/docs"),
    "GET /sign-in": get("/sign-in"),
    "GET /sign-in/oidc": get("/sign-in/oidc"),
    "GET /sign-in/oidc/callback": get("/sign-in/oidc/callback"),
    "POST /sign-in": form("/sign-in", {"name": "rivalowner", "password": "x"}),
    "POST /sign-out": form("/sign-out"),
    "GET /account": page("/account"),
    "POST /account/password": form("/account/password", {"old": "x", "new": "y"}),
    "POST /account/keys": form("/account/keys", {"collection": "obsidianvault"}),
    "POST /account/keys/{key_id}/revoke": form("/account/keys/nosuchkey/revoke"),
    "POST /account/sessions/end": form("/account/sessions/end"),
    "POST /account/forget": form("/account/forget", {"password": "x"}),
}


def filled(value: Any, names: dict[str, str]) -> Any:
    """``value`` with names put in."""
    if isinstance(value, str):
        return re.sub(r"\{([fo]_\w+)\}", lambda match: names.get(match[1], ""), value)
    if isinstance(value, dict):
        return {key: filled(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, names) for one in value]
    return value
