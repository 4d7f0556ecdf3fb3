"""The actions that the audit records, and how people read it. Another package's action is one more line here."""

from enum import StrEnum

from webapp.i18n.marks import N_


class Action(StrEnum):
    """Something that was done to an account or to what is kept about its owner: its name, and how people read it."""

    words: str

    def __new__(cls, name: str, words: str) -> "Action":
        action = str.__new__(cls, name)
        action._value_, action.words = name, words
        return action

    SIGNED_IN = "signed_in", N_("Signed in")
    SIGNED_OUT = "signed_out", N_("Signed out")
    SESSION_ENDED = "session_ended", N_("Ended a session")
    ACCOUNT_CREATED = "account_created", N_("Created the account")
    PASSWORD_CHANGED = "password_changed", N_("Changed the password")
    PASSWORD_RESET = "password_reset", N_("Set a new password")
    EMAIL_CHANGED = "email_changed", N_("Changed the e-mail address")
    TWO_FACTOR_ON = "two_factor_on", N_("Turned on two-step sign-in")
    TWO_FACTOR_OFF = "two_factor_off", N_("Turned off two-step sign-in")
    RECOVERY_CODE_USED = "recovery_code_used", N_("Used a recovery code")
    EMAIL_VERIFIED = "email_verified", N_("Confirmed the e-mail address")
    PASSKEY_ADDED = "passkey_added", N_("Added a passkey")
    PASSKEY_REMOVED = "passkey_removed", N_("Removed a passkey")
    TOKEN_CREATED = "token_created", N_("Created a token")
    TOKEN_REVOKED = "token_revoked", N_("Revoked a token")
    PROGRAM_CONNECTED = "program_connected", N_("Connected a program")
    PROGRAM_DISCONNECTED = "program_disconnected", N_("Disconnected a program")
    WEBHOOK_CREATED = "webhook_created", N_("Added a webhook")
    WEBHOOK_CHANGED = "webhook_changed", N_("Changed a webhook")
    WEBHOOK_DELETED = "webhook_deleted", N_("Deleted a webhook")
    WEBHOOK_DISABLED = "webhook_disabled", N_("Switched off a webhook")
    ROLE_CHANGED = "role_changed", N_("Changed the role")
    ACCOUNT_STOPPED = "account_stopped", N_("Deactivated the account")
    ACCOUNT_RESTORED = "account_restored", N_("Restored the account")
    DELETION_ASKED = "deletion_asked", N_("Requested account deletion")
    DELETION_WITHDRAWN = "deletion_withdrawn", N_("Kept the account")
    ADMIN_LOOKED = "admin_looked", N_("Viewed your data")
    ADMIN_CHANGED = "admin_changed", N_("Changed your data")
    MEMORIES_READ = "memories_read", N_("Read memories")
    MEMORIES_CHANGED = "memories_changed", N_("Changed memories")
    SCHEDULES_CHANGED = "schedules_changed", N_("Changed schedules")
    EXPORT_MADE = "export_made", N_("Created an export")
    EXPORT_DOWNLOADED = "export_downloaded", N_("Downloaded an export")
    IMPORT_MADE = "import_made", N_("Imported")
    SHARE_CREATED = "share_created", N_("Shared a link")
    SHARE_REVOKED = "share_revoked", N_("Revoked a link")
    SPACE_JOINED = "space_joined", N_("Joined a space")
    SPACE_LEFT = "space_left", N_("Left a space")


_WORDS = {str(action): action.words for action in Action}


def words(action: str) -> str:
    """Return an action as people read it; one that this version does not know is shown by its name."""
    return _WORDS.get(action, action.replace("_", " ").capitalize())
