"""Users, groups, grants, keys, sign-ins and the audit log."""

from __future__ import annotations

from wellread.store.catalogue.accounts.audit_records import AuditLog
from wellread.store.catalogue.accounts.group_records import Grants, Groups
from wellread.store.catalogue.accounts.key_records import ApiKeys
from wellread.store.catalogue.accounts.provider_users import ProviderUsers
from wellread.store.catalogue.accounts.rights_reads import RightsReads
from wellread.store.catalogue.accounts.user_records import Users
from wellread.store.catalogue.accounts.web_session_records import SignInAttempts, WebSessions
from wellread.store.schema.database import Database


class Accounts:
    """Everything about users. Every method of every part raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self.users = Users(database)
        self.from_provider = ProviderUsers(database)
        self.groups = Groups(database)
        self.grants = Grants(database)
        self.keys = ApiKeys(database)
        self.sessions = WebSessions(database)
        self.attempts = SignInAttempts(database)
        self.audit = AuditLog(database)
        self.rights = RightsReads(database)
