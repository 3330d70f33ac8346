from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

import httpx

from wellread.kb import KnowledgeBase
from wellread.serve.views import view_url
from wellread.types import Span

VOID = {"meta", "link", "br", "input", "img", "meter"}


class Parsed(HTMLParser):
    """Elements with their ids, the text inside ``mark`` and inside ``.text``, and balance."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        if "<main" in html:  # the frame around it is the same for every page
            html = html[html.index("<main") : html.index("</main>") + len("</main>")]
        self.open: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.marked = ""
        self.text = ""
        self.landmarks: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in given)
        self.tags.append(tag)
        if given.get("id") and given["id"] not in ("main", "source"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given["href"]))
        if "landmark" in str(given.get("class")):
            self.landmarks.append("")
        if tag not in VOID:
            self.open.append((tag, str(given.get("class") or "")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        inside = [shape for _, shape in self.open]
        if any(tag == "mark" for tag, _ in self.open):
            self.marked += data
        if "text" in inside:
            self.text += data
        if any("landmark" in shape for shape in inside):
            self.landmarks[-1] += data.strip()


def found(kb: KnowledgeBase, collection: str, name: str) -> str:
    facts = next(facts for facts in kb.catalogue.documents(collection) if facts.uri.endswith(name))
    return facts.id


async def test_the_marked_text_is_the_span_whatever_it_holds(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    known = found(kb, "town", "/signs.txt")
    document = kb.catalogue.document(known)
    assert document is not None
    text = document.text
    assert "<script>" in text
    assert "😀" in text
    places = [
        (text.index("<script>"), text.index("per") + 3),
        (text.index("<script>") + 3, text.index("</mark>") + 4),
        (text.index("😀"), text.index("😀") + 1),
        (0, len(text)),
    ]
    for start, end in places:
        response = await client.get(f"/view/{known}", params={"start": start, "end": end})
        assert response.status_code == 200
        page = Parsed(response.text)
        assert page.marked == text[start:end]
        assert page.text == text
        assert "script" not in page.tags
        assert page.ids.count("cited") == 1


async def test_a_recording_shows_who_speaks_when(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    known = found(kb, "town", "/talk.vtt")
    page = Parsed((await client.get(f"/view/{known}")).text)
    assert page.landmarks == ["00:01 · Ana", "01:10 · Ben"]
    assert page.marked == ""
    assert "cited" not in page.ids
    document = kb.catalogue.document(known)
    assert document is not None
    both = Span(start=3, end=len(document.text) - 3)
    page = Parsed((await client.get(f"/view/{known}?start={both.start}&end={both.end}")).text)
    assert page.marked == both.of(document.text)
    assert page.tags.count("mark") == 2
    assert page.ids == ["cited"]


async def test_every_citation_s_view_url_opens_its_quote(client: httpx.AsyncClient) -> None:
    questions = (
        "How much was the ferry Osprey bought for?",
        "When will the boathouse roof be repaired?",
        "How much carbon do seagrass meadows store in the sediment?",
    )
    kinds = set()
    for question in questions:
        body = (await client.post("/api/ask", json={"question": question})).json()
        assert body["citations"]
        for citation in body["citations"]:
            assert urlsplit(citation["viewUrl"]).fragment == "cited"
            page = Parsed((await client.get(citation["viewUrl"])).text)
            assert page.marked == citation["quote"]
            kinds.add(citation["kind"])
    assert kinds >= {"page", "transcript"}


def test_ids_are_escaped_in_addresses() -> None:
    address = view_url("a/b?c", "v&w", Span(start=1, end=2))
    assert address == "/view/a%2Fb%3Fc?start=1&end=2&version=v%26w#cited"
