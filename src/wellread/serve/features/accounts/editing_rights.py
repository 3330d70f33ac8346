"""Where somebody may add and remove material."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from wellread.errors import SourceError
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.library.uploads import upload_folder
from wellread.serve.guards.sign_in import FORBIDDEN
from wellread.store.schema.stored_values import Rights


def check_may_edit(request: Request, collection: str) -> None:
    """Refuse a change of a collection that is not open to an editor for that.

    It is the same for one that is not there: what exists is not told.

    Raises:
        HTTPException: the request may not.
    """
    if not cast(Rights, request.state.rights).may_edit(collection):
        raise HTTPException(FORBIDDEN.status, FORBIDDEN.detail)


def check_may_read(
    request: Request, kb: KnowledgeBase, collection: str, inputs: Iterable[str]
) -> None:
    """Refuse files and folders of the machine to everybody but admins.

    Its files are not the users': the settings and the catalogue are among them. Addresses of the
    web, and what was uploaded into the collection, may be read by whoever may edit it.

    Raises:
        SourceError: the request may not; the same as for a file that is not there.
    """
    if cast(Rights, request.state.rights).is_admin:
        return
    kept = upload_folder(kb, collection).resolve()
    for given in inputs:
        if not is_web(given) and not Path(local_path(given)).resolve().is_relative_to(kept):
            raise SourceError(
                given,
                "is no address that may be read from here",
                hint="upload the files, or ask an admin of this server",
            )
