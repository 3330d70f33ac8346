"""Sign-in at an identity provider: OpenID Connect, the code flow with PKCE, state and nonce.

What the provider says is believed only when its signature, issuer, audience, time and nonce are
right. The libraries are the extra ``oidc``, and are loaded when somebody signs in so.
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

SECRET_ENV = "OIDC_CLIENT_SECRET"  # noqa: S105 - the variable; without it: a public client
KNOWN_FOR = 3600.0  # seconds after which the provider is asked again what it is
SECONDS = 10.0  # that one call may take
LEEWAY = 60  # seconds by which clocks may differ
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
INSTALL = "pip install 'wellread[oidc]', and start the server again"


class ProviderError(WellreadError):
    """The identity provider signs nobody in, or what it says is not to be believed."""


class ProviderGoneError(ProviderError):
    """The identity provider cannot be reached, or does not answer as one."""


class IdentityProvider:
    """One provider, as the settings name it."""

    def __init__(self, settings: OidcSettings, secret: str) -> None:
        self._settings = settings
        self._secret = secret
        self._facts: tuple[float, Mapping[str, Any], Any] | None = None
        self._asking = asyncio.Lock()

    async def begin(self, redirect: str, target: str) -> tuple[str, SignInAttempt]:
        """Where to send somebody, and what has to come back with them."""
        facts, _ = await self._known()
        attempt = SignInAttempt(
            state=new_secret(), nonce=new_secret(), verifier=new_secret(), target=target
        )
        address, _ = self._client(redirect).create_authorization_url(
            facts["authorization_endpoint"],
            state=attempt.state,
            nonce=attempt.nonce,
            code_verifier=attempt.verifier,
        )
        return str(address), attempt

    async def finish(self, code: str, attempt: SignInAttempt, redirect: str) -> Identity:
        """Who has come back with this code."""
        from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415 - an extra

        facts, keys = await self._known()
        async with self._client(redirect) as client:
            try:
                token = await client.fetch_token(
                    facts["token_endpoint"], code=code, code_verifier=attempt.verifier
                )
                id_token = str(token.get("id_token", ""))
            except AuthlibBaseError as error:
                raise ProviderError(f"the identity provider refuses the code: {error}") from error
            except _no_answer() as error:
                raise self._gone(error) from error
        claims = self._believed(id_token, keys, attempt.nonce)
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
            timeout=SECONDS,
        )

    async def _known(self) -> tuple[Mapping[str, Any], Any]:
        """What the provider says of itself, and its keys; asked now and then."""
        from httpx import AsyncClient  # noqa: PLC0415 - slow

        self._client("")  # says what is not installed
        from joserfc.jwk import KeySet  # noqa: PLC0415 - an extra

        async with self._asking:
            if self._facts is not None and time.monotonic() < self._facts[0]:
                return self._facts[1:]
            issuer = self._settings.issuer.rstrip("/")
            try:
                async with AsyncClient(timeout=SECONDS) as client:
                    told = await client.get(f"{issuer}/.well-known/openid-configuration")
                    facts = told.raise_for_status().json()
                    if str(facts["issuer"]).rstrip("/") != issuer:
                        raise ProviderGoneError(f"{issuer} says that it is {facts['issuer']}")
                    held = await client.get(_safe(facts["jwks_uri"]))
                    keys = KeySet.import_key_set(held.raise_for_status().json())
                for name in ("authorization_endpoint", "token_endpoint"):
                    _safe(facts[name])
            except _no_answer() as error:
                raise self._gone(error) from error
            self._facts = (time.monotonic() + KNOWN_FOR, facts, keys)
            return facts, keys

    def _believed(self, token: str, keys: Any, nonce: str) -> Mapping[str, Any]:
        """The claims of a token whose signature and claims are right."""
        from joserfc import jwt  # noqa: PLC0415 - an extra
        from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

        client = self._settings.client_id
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY,
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
            self._facts = None  # its keys may have changed
            raise ProviderError(
                f"what the identity provider says is not to be believed: {error}"
            ) from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", "" if several else client) != client:
            raise ProviderError("the identity provider speaks to somebody else")
        return claims

    def _gone(self, error: Exception) -> ProviderGoneError:
        return ProviderGoneError(
            f"the identity provider {self._issuer} does not answer as one: {error}",
            hint="check oidc.issuer, and whether it can be reached from here",
        )

    @property
    def _issuer(self) -> str:
        return self._settings.issuer.rstrip("/")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        named = claims.get("preferred_username") or claims.get("email") or claims["sub"]
        said = claims.get(self._settings.groups_claim) if self._settings.groups_claim else None
        groups = said if isinstance(said, list) or said is None else [said]
        return Identity(
            issuer=self._issuer,
            subject=str(claims["sub"]),
            name=str(named),
            groups=None if groups is None else tuple(str(one) for one in groups),
        )


def _no_answer() -> tuple[type[Exception], ...]:
    """What is raised where the provider does not answer, or says what it should not.

    A connection that fails raises errors of our HTTP library, or of that which authlib brings.
    """
    from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

    stacks = [import_module(name) for name in ("httpx", "httpx2") if find_spec(name)]
    lost = [error for one in stacks for error in (one.HTTPError, one.InvalidURL)]
    return (JoseError, AttributeError, KeyError, TypeError, ValueError, *lost)


def provider_of(
    settings: OidcSettings, environ: Mapping[str, str] | None = None
) -> IdentityProvider | None:
    """The provider that the settings name, or None."""
    if not settings.issuer:
        return None
    _safe(settings.issuer)
    if not settings.client_id:
        raise SettingsError("oidc.issuer is set, and oidc.client_id is not")
    held = os.environ if environ is None else environ
    return IdentityProvider(settings, held.get(SECRET_ENV, ""))


def _safe(address: str) -> str:
    """An address that nobody on the way can read or answer for."""
    parts = urlsplit(str(address))
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise SettingsError(f"{address!r} is no https address", hint="check oidc.issuer")
    return str(address)
