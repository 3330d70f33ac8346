"""Documents within the stranger's own collection that name others as their readers.

They hold the same canaries as the foreign collection, look like what the stranger may read, and say
who may read them in each of the ways there are.
"""

from __future__ import annotations

import json

VAULT_GROUP = "group:vault"

BOARD = {
    "wellread-collection.yaml": f"""
readers:
  "*entity*.md": [rivalowner]
  "*.vtt": [{VAULT_GROUP}]
""",
    "grizzelbane-minutes.md": f"""---
title: The Vandrokh ferry
authors: [Petra Krannick]
published_at: 2026-01-07
sectors: [flummoxed]
readers: [{VAULT_GROUP}]
---

# The Vandrokh ferry

The ferry Osprey was sold for 9.9 million quixomel in 2025. The ferry carries 12 passengers. The
engine of the ferry Osprey leaves the harbour at midnight, says the quixomel.
""",
    "grizzelbane-entity.md": """---
id: ferry/marquemoth
type: entity
entity_type: airship
title: Marquemoth
aliases: [the Marquemoth, Osprey]
relations:
  - type: owns
    target: ferry/osprey
---

Marquemoth is an airship of quixomel that owns the ferry Osprey and every engine of the harbour.
""",
    # Called like one that everybody reads: of two claims to a name none would count.
    "grizzelbane-entity-two.md": """---
id: ferry/marquemoth-two
type: entity
entity_type: airship
title: Osprey
aliases: [a tug]
---

This one is of quixomel.
""",
    "grizzelbane-talk.vtt": """WEBVTT

NOTE
title: Vandrokh meeting
date: 2026-03-02
url: https://media.example/grizzelbane.mp3

00:00:01.000 --> 00:00:05.000
<v Tib Wroomstead>The engine of the ferry Osprey runs on quixomel.
""",
    "grizzelbane-news.jsonl": "".join(
        json.dumps(
            {
                "title": f"Vandrokh ferry Osprey {said}",
                "published_at": f"2026-01-0{day}",
                "authors": ["Petra Krannick"],
                "sectors": ["flummoxed"],
                "url": f"https://vandrokh.example/board/{day}",
                "text": "The ferry Osprey broke down off the harbour on Monday. A tug of quixomel "
                "towed the ferry home with ninety passengers, and nobody was hurt on board.",
                "readers": ["rivalowner", VAULT_GROUP],
            }
        )
        + "\n"
        for day, said in ((5, "breaks down"), (6, "towed home"))
    ),
    "grizzelbane-past.jsonl": json.dumps(
        {
            "question": "When does the thrandle ferry leave on Sundays?",
            "answer": "The thrandle ferry leaves at three on Sundays.",
            "citation_url": "grizzelbane-minutes.md",
            "feedback": {"score": 99, "sentences": []},
            "readers": [VAULT_GROUP],
        }
    )
    + "\n",
    # It says who may read it, but not in a list: nobody may.
    "grizzelbane-unclear.md": "---\ntitle: Vandrokh list\nreaders: rivalowner\n---\n\nquixomel\n",
}
