"""The reason why the database or a disk failed, by the number that it or its driver gave."""

import errno
from typing import Any

from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    InternalError,
    OperationalError,
    ProgrammingError,
    TimeoutError as PoolTimeoutError,
)

LOST = {1053, 1158, 1159, 1160, 1161, 2002, 2003, 2005, 2006, 2012, 2013, 2026, 2055, 4031}
"""MySQL: the connection is gone, or was refused."""
NOT_SERVING = {1047, 1290, 1836}
"""MySQL: the server is up but does not serve: a Galera node outside its cluster, or read-only after a failover."""
# MySQL: a user, password or database that is wrong, or no right to the database, a table or an operation.
_REFUSED = {1044, 1045, 1049, 1130, 1142, 1143, 1227, 1251, 1524, 1698, 1820, 1862, 4151}
# MySQL: a table whose file is gone or damaged, or one that this server deletes no rows of (`refuse_weak_cascades`).
_BROKEN = {1030, 1034, 1035, 1194, 1195, 1812, 1932, 6575}
# Those, too many connections (or of one user), an aborted one, lock waits; no such column or table, as in an upgrade.
_DATABASE_AWAY = LOST | NOT_SERVING | _REFUSED | _BROKEN | {1040, 1184, 1203, 1205, 1213, 1226} | {1054, 1146}
# MySQL: disk full, table full, error while writing a file, no more room in the undo log or the tablespace.
_DATABASE_FULL = {3, 28, 1021, 1026, 1114, 1637, 1713}
_CANNOT_STORE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE}
_AWAY_WORDS = ("is locked", "unable to open", "readonly", "disk I/O", "no such table", "no such column", "no column")


def error_code(error: BaseException) -> Any:
    """Return the error number that the server or the driver gave; None without one."""
    original = getattr(error, "orig", None)
    return original.args[0] if original is not None and original.args else None


def savepoint_is_gone(error: BaseException) -> bool:
    """MySQL: whether a deadlock took a savepoint along with its transaction; a missing function has the same number."""
    return error_code(error) == 1305 and "SAVEPOINT" in str(getattr(error, "orig", ""))


def database_is_full(error: BaseException) -> bool:
    """Return whether the database has no room left for what it was given."""
    if not isinstance(error, DBAPIError):
        return False
    return error_code(error) in _DATABASE_FULL or "disk is full" in str(error.orig)


def disk_takes_nothing(error: BaseException) -> bool:
    """Return whether files cannot be stored because of the disk, which may be full, or the rights on it."""
    return isinstance(error, OSError) and error.errno in _CANNOT_STORE


def database_refuses(error: BaseException) -> bool:
    """Return whether the server is up but refuses our user, or what this user wants: waiting does not help."""
    return isinstance(error, DBAPIError) and error_code(error) in _REFUSED


def database_is_locked(error: BaseException) -> bool:
    """Return whether another program keeps the file of SQLite locked."""
    return isinstance(error, DBAPIError) and "is locked" in str(error.orig)


def database_is_away(error: BaseException) -> bool:
    """Return whether the database itself failed, for now or until somebody mends it, rather than our statement."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, PoolTimeoutError)
    if error.connection_invalidated or database_is_full(error) or savepoint_is_gone(error):
        return True
    if not isinstance(error, InternalError | OperationalError | ProgrammingError):
        return type(error) is DatabaseError  # SQLite: the file is damaged, or none of its
    if error.statement is None or error_code(error) in _DATABASE_AWAY:  # None: in connecting, or in a COMMIT
        return True
    return isinstance(error, OperationalError) and any(map(str(error.orig).__contains__, _AWAY_WORDS))
