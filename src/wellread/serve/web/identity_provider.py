"""Signs users in with an identity provider (OpenID Connect code flow with PKCE and nonce).

A token is accepted only if its signature, issuer, audience, time and nonce are valid. The libraries
are in the extra ``oidc`` and are loaded at the first such sign-in.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from wellread.config import OidcSettings
from wellread.errors import SettingsError, WellreadError
from wellread.store.catalogue.accounts.sign_in_records import SignInAttempt, new_secret
from wellread.store.catalogue.accounts.user_records import Identity

SECRET_ENV = "OIDC_CLIENT_SECRET"  # noqa: S105 - a variable's name; if it is unset, a public client
METADATA_SECONDS = 3600.0  # seconds for which the provider's metadata is cached
TIMEOUT_SECONDS = 10.0  # timeout of one call
LEEWAY_SECONDS = 60  # allowed clock difference in seconds
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
INSTALL = "pip install 'wellread[oidc]', then restart the server"


class ProviderError(WellreadError):
    """The identity provider refused the sign-in or sent an invalid reply."""


class ProviderGoneError(ProviderError):
    """The identity provider cannot be reached or does not reply as expected."""


class IdentityProvider:
    """The identity provider of the settings."""

    def __init__(self, settings: OidcSettings, secret: str) -> None:
        self._settings = settings
        self._secret = secret
        self._cached: tuple[float, Mapping[str, Any], Any] | None = None
        self._metadata_lock = asyncio.Lock()

    async def begin(self, redirect: str, target: str) -> tuple[str, SignInAttempt]:
        """The address that the browser is sent to, and the attempt that its return must match."""
        metadata, _ = await self._metadata()
        attempt = SignInAttempt(
            state=new_secret(), nonce=new_secret(), verifier=new_secret(), target=target
        )
        address, _ = self._client(redirect).create_authorization_url(
            metadata["authorization_endpoint"],
            state=attempt.state,
            nonce=attempt.nonce,
            code_verifier=attempt.verifier,
        )
        return str(address), attempt

    async def finish(self, code: str, attempt: SignInAttempt, redirect: str) -> Identity:
        """The identity of the user who returned with ``code``."""
        from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415 - an extra

        metadata, keys = await self._metadata()
        async with self._client(redirect) as client:
            try:
                token = await client.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=attempt.verifier
                )
                id_token = str(token.get("id_token", ""))
            except AuthlibBaseError as error:
                raise ProviderError(f"the identity provider refused the code: {error}") from error
            except _reply_errors() as error:
                raise self._gone(error) from error
        claims = self._validated_claims(id_token, keys, attempt.nonce)
        return self._identity(claims)

    def _client(self, redirect: str) -> Any:
        try:
            from authlib.integrations.httpx_client import (  # noqa: PLC0415 - an extra
                AsyncOAuth2Client,
            )
        except ImportError as error:
            raise SettingsError("oidc.issuer needs the extra 'oidc'", hint=INSTALL) from error
        return AsyncOAuth2Client(
            client_id=self._settings.client_id,
            client_secret=self._secret or None,
            token_endpoint_auth_method="client_secret_basic" if self._secret else "none",
            scope=self._settings.scopes,
            redirect_uri=redirect,
            code_challenge_method="S256",
            timeout=TIMEOUT_SECONDS,
        )

    async def _metadata(self) -> tuple[Mapping[str, Any], Any]:
        """The provider's metadata and keys, cached for an hour."""
        from httpx import AsyncClient  # noqa: PLC0415 - slow

        self._client("")  # raises if the extra is not installed
        from joserfc.jwk import KeySet  # noqa: PLC0415 - an extra

        async with self._metadata_lock:
            if self._cached is not None and time.monotonic() < self._cached[0]:
                return self._cached[1:]
            issuer = self._settings.issuer.rstrip("/")
            try:
                async with AsyncClient(timeout=TIMEOUT_SECONDS) as client:
                    reply = await client.get(f"{issuer}/.well-known/openid-configuration")
                    metadata = reply.raise_for_status().json()
                    if str(metadata["issuer"]).rstrip("/") != issuer:
                        raise ProviderGoneError(
                            f"{issuer} names another issuer: {metadata['issuer']}"
                        )
                    keys_reply = await client.get(_require_https(metadata["jwks_uri"]))
                    keys = KeySet.import_key_set(keys_reply.raise_for_status().json())
                for name in ("authorization_endpoint", "token_endpoint"):
                    _require_https(metadata[name])
            except _reply_errors() as error:
                raise self._gone(error) from error
            self._cached = (time.monotonic() + METADATA_SECONDS, metadata, keys)
            return metadata, keys

    def _validated_claims(self, token: str, keys: Any, nonce: str) -> Mapping[str, Any]:
        from joserfc import jwt  # noqa: PLC0415 - an extra
        from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

        client = self._settings.client_id
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "values": [self._settings.issuer, self._issuer]},
            aud={"essential": True, "value": client},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims: dict[str, Any] = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
            registry.validate(claims)
        except (JoseError, ValueError) as error:
            self._cached = None  # the provider's keys may have changed
            raise ProviderError(f"the identity provider's token is not valid: {error}") from error
        has_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", "" if has_several else client) != client:
            raise ProviderError("the identity provider's token is for another client")
        return claims

    def _gone(self, error: Exception) -> ProviderGoneError:
        return ProviderGoneError(
            f"the identity provider {self._issuer} did not reply properly: {error}",
            hint="check oidc.issuer, and whether this server can reach it",
        )

    @property
    def _issuer(self) -> str:
        return self._settings.issuer.rstrip("/")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        user_name = claims.get("preferred_username") or claims.get("email") or claims["sub"]
        claim = claims.get(self._settings.groups_claim) if self._settings.groups_claim else None
        groups = claim if isinstance(claim, list) or claim is None else [claim]
        return Identity(
            issuer=self._issuer,
            subject=str(claims["sub"]),
            name=str(user_name),
            groups=None if groups is None else tuple(str(group) for group in groups),
        )


def _reply_errors() -> tuple[type[Exception], ...]:
    """The exceptions raised when the provider does not reply or replies wrongly.

    Connection errors come from our HTTP library or from the one that authlib uses.
    """
    from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

    stacks = [import_module(name) for name in ("httpx", "httpx2") if find_spec(name)]
    connection_errors = [error for http in stacks for error in (http.HTTPError, http.InvalidURL)]
    return (JoseError, AttributeError, KeyError, TypeError, ValueError, *connection_errors)


def provider_of(
    settings: OidcSettings, environ: Mapping[str, str] | None = None
) -> IdentityProvider | None:
    """The provider named in the settings, or None."""
    if not settings.issuer:
        return None
    _require_https(settings.issuer)
    if not settings.client_id:
        raise SettingsError("oidc.issuer is set, but oidc.client_id is not")
    variables = os.environ if environ is None else environ
    return IdentityProvider(settings, variables.get(SECRET_ENV, ""))


def _require_https(address: str) -> str:
    """``address``, after checking that it uses https or is local."""
    parts = urlsplit(str(address))
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise SettingsError(f"{address!r} is not an https address", hint="check oidc.issuer")
    return str(address)
