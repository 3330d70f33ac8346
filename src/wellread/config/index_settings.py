"""Settings of the search index: where it is kept, and what keeps it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from wellread.ask_settings import Section, setting

PASSWORD_ENV = "OPENSEARCH_PASSWORD"  # the variable with the password of a cluster's user
LANCEDB = "lancedb"  # the back end that is built in


def _without_password(url: str) -> str:
    if ":" in url.partition("://")[2].rpartition("@")[0]:
        raise ValueError("a password stands in it; put it into the variable OPENSEARCH_PASSWORD")
    return url


class IndexSettings(Section):
    backend: str = setting(
        "",
        "which search index: lancedb (in the home's folder) or one that an installed package adds; "
        "empty: that of url, and without url lancedb",
    )
    url: Annotated[str, AfterValidator(_without_password)] = setting(
        "",
        "a cluster that holds the index, as opensearch+https://user@host:9200 "
        "(docs/opensearch.md); empty: the home's folder",
    )

    @property
    def engine(self) -> str:
        """The back end that is asked for."""
        return self.backend or self.service or LANCEDB

    @property
    def service(self) -> str:
        """The back end of the address; empty without one."""
        return self.url.partition(":")[0].partition("+")[0]
