"""Users, groups, grants, keys, sign-ins and the audit log."""
