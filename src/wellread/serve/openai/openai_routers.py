"""The routers of the interface of OpenAI."""

from __future__ import annotations

from wellread.serve.openai import chat_completions, models_api, responses_api

OPENAI_ROUTERS = tuple(one.router for one in (models_api, chat_completions, responses_api))
