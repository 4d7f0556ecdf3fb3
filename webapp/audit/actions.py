"""The actions that the audit records, and how people read it. Another package's action is one more line here."""

from enum import StrEnum

from webapp.i18n.marks import N_


class Action(StrEnum):
    """Something that was done to an account or to what is kept about its owner."""

    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    SESSION_ENDED = "session_ended"
    ACCOUNT_CREATED = "account_created"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105
    PASSWORD_RESET = "password_reset"  # noqa: S105
    EMAIL_CHANGED = "email_changed"
    TWO_FACTOR_ON = "two_factor_on"
    TWO_FACTOR_OFF = "two_factor_off"
    RECOVERY_CODE_USED = "recovery_code_used"
    EMAIL_VERIFIED = "email_verified"
    PASSKEY_ADDED = "passkey_added"
    PASSKEY_REMOVED = "passkey_removed"
    TOKEN_CREATED = "token_created"  # noqa: S105
    TOKEN_REVOKED = "token_revoked"  # noqa: S105
    PROGRAM_CONNECTED = "program_connected"
    PROGRAM_DISCONNECTED = "program_disconnected"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_DELETED = "webhook_deleted"
    WEBHOOK_DISABLED = "webhook_disabled"
    ROLE_CHANGED = "role_changed"
    ACCOUNT_STOPPED = "account_stopped"
    ACCOUNT_RESTORED = "account_restored"
    DELETION_ASKED = "deletion_asked"
    DELETION_WITHDRAWN = "deletion_withdrawn"
    ADMIN_LOOKED = "admin_looked"
    ADMIN_CHANGED = "admin_changed"
    MEMORIES_READ = "memories_read"
    MEMORIES_CHANGED = "memories_changed"
    SCHEDULES_CHANGED = "schedules_changed"
    EXPORT_MADE = "export_made"
    EXPORT_DOWNLOADED = "export_downloaded"
    IMPORT_MADE = "import_made"
    SHARE_CREATED = "share_created"
    SHARE_REVOKED = "share_revoked"
    SPACE_JOINED = "space_joined"
    SPACE_LEFT = "space_left"


WORDS: dict[str, str] = N_(
    {
        Action.SIGNED_IN: "Signed in",
        Action.SIGNED_OUT: "Signed out",
        Action.SESSION_ENDED: "Ended a session",
        Action.ACCOUNT_CREATED: "Created the account",
        Action.PASSWORD_CHANGED: "Changed the password",
        Action.PASSWORD_RESET: "Set a new password",
        Action.EMAIL_CHANGED: "Changed the e-mail address",
        Action.TWO_FACTOR_ON: "Turned on two-step sign-in",
        Action.TWO_FACTOR_OFF: "Turned off two-step sign-in",
        Action.RECOVERY_CODE_USED: "Used a recovery code",
        Action.EMAIL_VERIFIED: "Confirmed the e-mail address",
        Action.PASSKEY_ADDED: "Added a passkey",
        Action.PASSKEY_REMOVED: "Removed a passkey",
        Action.TOKEN_CREATED: "Created a token",
        Action.TOKEN_REVOKED: "Revoked a token",
        Action.PROGRAM_CONNECTED: "Connected a program",
        Action.PROGRAM_DISCONNECTED: "Disconnected a program",
        Action.WEBHOOK_CREATED: "Added a webhook",
        Action.WEBHOOK_CHANGED: "Changed a webhook",
        Action.WEBHOOK_DELETED: "Deleted a webhook",
        Action.WEBHOOK_DISABLED: "Switched off a webhook that did not answer",
        Action.ROLE_CHANGED: "Changed the role",
        Action.ACCOUNT_STOPPED: "Deactivated the account",
        Action.ACCOUNT_RESTORED: "Restored the account",
        Action.DELETION_ASKED: "Requested account deletion",
        Action.DELETION_WITHDRAWN: "Kept the account",
        Action.ADMIN_LOOKED: "Viewed your data",
        Action.ADMIN_CHANGED: "Changed your data",
        Action.MEMORIES_READ: "Read memories",
        Action.MEMORIES_CHANGED: "Changed memories",
        Action.SCHEDULES_CHANGED: "Changed schedules",
        Action.EXPORT_MADE: "Created an export",
        Action.EXPORT_DOWNLOADED: "Downloaded an export",
        Action.IMPORT_MADE: "Imported",
        Action.SHARE_CREATED: "Shared a link",
        Action.SHARE_REVOKED: "Revoked a link",
        Action.SPACE_JOINED: "Joined a space",
        Action.SPACE_LEFT: "Left a space",
    }
)


def words(action: str) -> str:
    """Return an action as people read it; one that this version does not know is shown by its name."""
    return WORDS.get(action, action.replace("_", " ").capitalize())
