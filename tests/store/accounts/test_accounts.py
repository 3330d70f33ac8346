"""Users, groups, grants, keys and sessions as the catalogue keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import EVERYTHING
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.accounts import user_records
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.schema.stored_values import User

SECRET = "a pier in the fog"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_records, "_HASHER", PasswordHasher.from_parameters(CHEAPEST))


@pytest.fixture
def accounts(catalogue: Catalogue) -> Accounts:
    return catalogue.accounts


@pytest.fixture
def admin(accounts: Accounts) -> User:
    return accounts.users.add("Root", "admin", SECRET)


@pytest.fixture
def ana(accounts: Accounts, admin: User) -> User:
    return accounts.users.add("ana", "reader", SECRET)


def test_a_password_opens_its_account_and_no_other(accounts: Accounts, ana: User) -> None:
    assert accounts.users.authenticate("Ana ", SECRET) == ana
    assert accounts.users.authenticate("ana", SECRET + "x") is None
    assert accounts.users.authenticate("nobody", SECRET) is None
    assert accounts.users.authenticate("", "") is None


@pytest.mark.sqlite_only
def test_what_is_kept_of_secrets_is_a_hash(
    catalogue: Catalogue, accounts: Accounts, ana: User, tmp_path: Path
) -> None:
    _, key = accounts.keys.new(ana.id, "script", ("read",))
    cookie = accounts.sessions.begin(ana.id, timedelta(days=1))
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert all(secret.encode() not in held for secret in (SECRET, key, cookie))
    assert b"$argon2id$" in held


def test_a_hash_with_weaker_parameters_is_made_anew_at_the_next_sign_in(
    accounts: Accounts, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    class Looking(PasswordHasher):
        def check_needs_rehash(self, hash: str | bytes) -> bool:
            seen.append(super().check_needs_rehash(hash))
            return seen[-1]

    stronger = Looking(time_cost=2, memory_cost=16, parallelism=1)
    monkeypatch.setattr(user_records, "_HASHER", stronger)
    for _ in range(2):
        assert accounts.users.authenticate("ana", SECRET) == ana
    assert seen == [True, False]


def test_as_much_work_is_done_for_a_name_that_nobody_has(
    accounts: Accounts, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
            verified.append(str(hash))
            return super().verify(hash, password)

    monkeypatch.setattr(user_records, "_HASHER", Counting.from_parameters(CHEAPEST))
    user_records._unknown_user_hash.cache_clear()
    for name in ("ana", "nobody"):
        accounts.users.authenticate(name, "wrong " + SECRET)
    assert len(verified) == 2
    assert all(one.startswith("$argon2id$") for one in verified)


@pytest.mark.parametrize(
    "weak", ["short", "aaaaaaaaaaaaaaa", "a.long.name@example.org", "x" * 1001]
)
def test_a_weak_password_is_refused(accounts: Accounts, weak: str) -> None:
    with pytest.raises(RequestError):
        accounts.users.add("a.long.name@example.org", "reader", weak)
    assert not accounts.users.any()


@pytest.mark.parametrize("name", ["", "  ", "two words", "a\nb", "a\0b", "x" * 101])
def test_a_name_that_is_none_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(RequestError):
        accounts.users.add(name, "reader", SECRET)


def test_a_name_is_taken_once_whatever_its_capitals(accounts: Accounts, ana: User) -> None:
    with pytest.raises(RequestError, match="already"):
        accounts.users.add("ANA", "reader", SECRET)


def test_the_last_admin_stays(catalogue: Catalogue, accounts: Accounts, ana: User) -> None:
    root = accounts.users.named("root")
    for change in (
        lambda: accounts.users.set_role(root.id, "editor"),
        lambda: accounts.users.set_disabled(root.id, True),
        lambda: catalogue.forgetting_users.remove(root.id),
        lambda: catalogue.forgetting_users.forget(root.id),
    ):
        with pytest.raises(RequestError, match="last admin"):
            change()
    assert accounts.users.named("root") == root
    catalogue.forgetting_users.remove(ana.id)
    catalogue.forgetting_users.remove(root.id)  # then there are no users again
    assert not accounts.users.any()


def test_sessions_end_with_a_new_password_and_when_the_user_is_kept_out(
    accounts: Accounts, ana: User
) -> None:
    first = accounts.sessions.begin(ana.id, timedelta(days=1), "Browser 1")
    opened = accounts.sessions.authenticate(first)
    assert opened is not None
    assert (opened.user_id, opened.agent) == (ana.id, "Browser 1")
    accounts.users.set_password(ana.id, ana.name, "another " + SECRET)
    assert accounts.sessions.authenticate(first) is None
    assert accounts.users.authenticate("ana", SECRET) is None
    second = accounts.sessions.begin(ana.id, timedelta(days=1))
    _, key = accounts.keys.new(ana.id, "script", ("read",))
    accounts.users.set_disabled(ana.id, True)
    assert accounts.sessions.authenticate(second) is None
    assert accounts.keys.authenticate(key) is None
    assert accounts.users.authenticate("ana", "another " + SECRET) is None
    accounts.users.set_disabled(ana.id, False)
    assert accounts.sessions.authenticate(second) is None  # it does not come back
    assert accounts.keys.authenticate(key) is not None


def test_a_session_and_a_key_end_when_their_time_is_over(accounts: Accounts, ana: User) -> None:
    over = datetime.now(UTC) - timedelta(seconds=1)
    assert accounts.sessions.authenticate(accounts.sessions.begin(ana.id, timedelta(0))) is None
    _, key = accounts.keys.new(ana.id, "old", ("read",), expires_at=over)
    assert accounts.keys.authenticate(key) is None


def test_a_key_is_listed_without_itself_and_revoked_by_its_owner_only(
    accounts: Accounts, ana: User, admin: User
) -> None:
    made, key = accounts.keys.new(ana.id, "script", ("read", "ask"), ["town"])
    assert key.startswith("wr_")
    assert made.start == key[:10]
    assert accounts.keys.authenticate(key) == made
    (listed,) = accounts.keys.of(ana.id)
    assert listed.used_at is not None
    assert key not in repr(listed)
    assert not accounts.keys.revoke(made.id, admin.id)
    assert accounts.keys.revoke(made.id, ana.id)
    assert accounts.keys.authenticate(key) is None


def test_only_an_admin_reads_everything(accounts: Accounts, admin: User, ana: User) -> None:
    assert accounts.rights.asker_of(admin).reads == EVERYTHING
    assert accounts.rights.asker_of(ana).reads == frozenset()
    accounts.grants.give("*", "editor", user_id=ana.id)
    assert accounts.rights.asker_of(ana).reads == frozenset()  # there is no collection yet
    assert accounts.rights.asker_of(ana).owner == ana.id


def test_a_grant_counts_for_the_user_and_for_the_group(accounts: Accounts, ana: User) -> None:
    group = accounts.groups.add("crew")
    accounts.groups.join(group.id, ana.id)
    accounts.grants.give("town", "reader", user_id=ana.id)
    accounts.grants.give("harbour", "editor", group_id=group.id)
    rights = accounts.rights.of(ana)
    assert rights.asker.reads == frozenset({"town", "harbour"})
    assert not rights.may_edit("harbour")  # a reader edits nothing, whatever the grant
    accounts.users.set_role(ana.id, "editor")
    rights = accounts.rights.of(accounts.users.named("ana"))
    assert (rights.may_edit("harbour"), rights.may_edit("town")) == (True, False)
    accounts.groups.leave(group.id, ana.id)
    assert accounts.rights.asker_of(ana).reads == frozenset({"town"})
    assert accounts.grants.take("town", user_id=ana.id)
    assert accounts.rights.asker_of(ana).reads == frozenset()


def test_a_key_never_may_more_than_its_owner(accounts: Accounts, admin: User, ana: User) -> None:
    accounts.grants.give("town", "editor", user_id=ana.id)
    key, _ = accounts.keys.new(ana.id, "all", ("read", "edit"), ["town", "secret"])
    rights = accounts.rights.of(ana, key)
    assert rights.asker.reads == frozenset({"town"})
    assert rights.scopes == {"read"}
    assert not rights.is_admin
    narrow, _ = accounts.keys.new(admin.id, "narrow", ("read",), ["town"])
    assert accounts.rights.of(admin, narrow).asker.reads == frozenset({"town"})


def test_what_is_not_there_is_named(accounts: Accounts) -> None:
    with pytest.raises(UnknownNameError, match="no user"):
        accounts.users.named("nobody")
    with pytest.raises(UnknownNameError, match="no group"):
        accounts.groups.named("nobody")
