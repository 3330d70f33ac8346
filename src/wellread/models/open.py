"""From settings to an embedder, to a reranker, and to a judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from wellread.ask_settings import VerificationSettings
from wellread.config import EmbeddingSettings
from wellread.errors import ModelError, SettingsError
from wellread.models.base import Embedder, LanguageModel
from wellread.models.judge import Judge
from wellread.models.rerank import Reranker
from wellread.rerank_settings import RerankSettings


def open_embedder(settings: EmbeddingSettings, home: Path) -> Embedder:
    """The embedder that ``settings.backend`` asks for; files it derives are kept under ``home``.

    Only the chosen embedder's libraries are imported. The HTTP embedder is not called yet.

    Raises:
        SettingsError: the HTTP embedder lacks its URL or its model.
        ModelError: the model could not be opened.
    """
    if settings.backend == "http":
        return _http(settings)
    if settings.backend == "static":
        from wellread.models.embedders.static_embedder import StaticEmbedder  # noqa: PLC0415

        return StaticEmbedder(home, model_path=settings.model_path, threads=settings.threads)
    from wellread.models.embedders.local_embedder import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder(home, model_path=settings.model_path, threads=settings.threads)


def _http(settings: EmbeddingSettings) -> Embedder:
    from wellread.models.embedders.http_embedder import HttpEmbedder  # noqa: PLC0415

    for name in ("url", "model"):
        if not getattr(settings, name):
            raise SettingsError(
                f"embedding.backend is http, but embedding.{name} is not set",
                hint=f"set embedding.{name} or WELLREAD_EMBEDDING_{name.upper()}",
            )
    return HttpEmbedder(
        settings.url,
        settings.model,
        api_key=os.environ.get(settings.api_key_env, "") if settings.api_key_env else "",
        timeout=settings.timeout,
    )


def open_reranker(
    settings: RerankSettings,
    model: Callable[[], LanguageModel | None],
    environ: Mapping[str, str] | None = None,
) -> Reranker | None:
    """The reranker that ``settings.backend`` asks for; ``None`` when it is ``none``.

    Only the chosen one's libraries are imported. No server is called yet.

    Args:
        model: opens the configured language model; called for the backend ``model`` only.
        environ: where the server's key is; the environment of the process by default.

    Raises:
        SettingsError: a setting that the backend needs is empty.
        ModelError: the extra ``rerank`` is not installed, or the model cannot be opened.
    """
    if settings.backend == "http":
        return _http_reranker(settings, os.environ if environ is None else environ)
    if settings.backend == "local":
        return _local_reranker(settings)
    if settings.backend == "model":
        from wellread.models.readers.rerank_model import ModelReranker  # noqa: PLC0415

        opened = model()
        if opened is None:
            raise _missing("model", "generation.model")
        return ModelReranker(opened, timeout=settings.timeout)
    return None


def _http_reranker(settings: RerankSettings, environ: Mapping[str, str]) -> Reranker:
    from wellread.models.readers.rerank_http import HttpReranker  # noqa: PLC0415

    if not settings.url:
        raise _missing("http", "rerank.url")
    if settings.format == "jina" and not settings.model:
        raise _missing("http", "rerank.model")
    return HttpReranker(
        settings.url,
        model=settings.model,
        wire=settings.format,
        api_key=environ.get(settings.api_key_env, "") if settings.api_key_env else "",
        timeout=settings.timeout,
    )


def _local_reranker(settings: RerankSettings) -> Reranker:
    if not settings.model_path:
        raise _missing("local", "rerank.model_path")
    with _extra_for("rerank.backend"):
        from wellread.models.readers.rerank_local import LocalReranker  # noqa: PLC0415
    return LocalReranker(settings.model_path, threads=settings.threads, timeout=settings.timeout)


def open_judge(
    settings: VerificationSettings,
    model: Callable[[], LanguageModel | None],
    environ: Mapping[str, str] | None = None,
) -> Judge | None:
    """The judge that ``settings.judge`` asks for; ``None`` when it is ``none``.

    Only the chosen one's libraries are imported. No server is called yet.

    Args:
        model: opens the language model that rules; called for ``model`` only.
        environ: where the server's key is; the environment of the process by default.

    Raises:
        SettingsError: a setting that the judge needs is empty.
        ModelError: the extra ``rerank`` is not installed, or the model cannot be opened.
    """
    if settings.judge == "http":
        return _http_judge(settings, os.environ if environ is None else environ)
    if settings.judge == "local":
        return _local_judge(settings)
    if settings.judge == "model":
        from wellread.models.readers.judge_model import ModelJudge  # noqa: PLC0415

        opened = model()
        if opened is None:
            raise _missing("model", "generation.model", setting="verification.judge")
        return ModelJudge(opened, timeout=settings.timeout)
    return None


def _http_judge(settings: VerificationSettings, environ: Mapping[str, str]) -> Judge:
    from wellread.models.readers.judge_http import HttpJudge  # noqa: PLC0415

    if not settings.url:
        raise _missing("http", "verification.url", setting="verification.judge")
    return HttpJudge(
        settings.url,
        api_key=environ.get(settings.api_key_env, "") if settings.api_key_env else "",
        timeout=settings.timeout,
    )


def _local_judge(settings: VerificationSettings) -> Judge:
    if not settings.model_path:
        raise _missing("local", "verification.model_path", setting="verification.judge")
    with _extra_for("verification.judge"):
        from wellread.models.readers.judge_local import LocalJudge  # noqa: PLC0415
    return LocalJudge(settings.model_path, timeout=settings.timeout)


@contextmanager
def _extra_for(setting: str) -> Iterator[None]:
    """Turn a failing import inside into an error that says what to install."""
    try:
        yield
    except ImportError as error:
        raise ModelError(
            f"{setting} 'local' needs the extra 'rerank', which cannot be imported: {error}",
            hint='pip install "wellread[rerank]"',
        ) from error


def _missing(backend: str, name: str, *, setting: str = "rerank.backend") -> SettingsError:
    return SettingsError(
        f"{setting} is {backend}, but {name} is not set",
        hint=f"set {name} or WELLREAD_{name.replace('.', '_').upper()}",
    )
