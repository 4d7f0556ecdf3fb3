"""Domain errors that a service may raise; how they are shown is up to webapp/http/problems.py."""

from typing import Any, TypeVar

from webapp.i18n.marks import N_, say, say_n

T = TypeVar("T")


class DomainError(Exception):
    """An expected failure, with a sentence for the person who caused it, in which there may be values as in `say`."""

    status = 400
    title = N_("Bad request")

    def __init__(
        self,
        detail: str = "",
        *,
        errors: list[dict[str, Any]] | None = None,
        retry_after: int | None = None,
        **values: Any,
    ) -> None:
        self.detail = say(detail, **values) if values else detail
        super().__init__(self.detail or self.title)
        self.errors = errors
        self.retry_after = retry_after

    @property
    def problem(self) -> str:
        """Return what is wrong; of several fields, with the first."""
        return str(self.errors[0]["msg"]) if self.errors else self.detail


class Invalid(DomainError):
    """Well-formed but not acceptable; `errors` says which field."""

    status, title = 422, N_("Not acceptable")

    @classmethod
    def field(cls, name: str, message: str, /, **values: Any) -> "Invalid":
        """Return an error about one field."""
        message = say(message, **values) if values else message
        return cls(message, errors=[{"loc": [name], "msg": message}])


class Unauthenticated(DomainError):
    status, title = 401, N_("Sign in first")


class Forbidden(DomainError):
    status, title = 403, N_("Not allowed")


class NotFound(DomainError):
    """Something that does not exist or belongs to somebody else; a caller cannot tell which."""

    status, title = 404, N_("Not found")


class Conflict(DomainError):
    status, title = 409, N_("Conflict")


class TooLarge(DomainError):
    status, title = 413, N_("Too large")


class UnsupportedMediaType(DomainError):
    status, title = 415, N_("Unsupported media type")


class TooMany(DomainError):
    status, title = 429, N_("Too many requests")

    @classmethod
    def within(cls, seconds: int) -> "TooMany":
        """Return the error that says when there may be more."""
        wait = say_n(
            "Too many attempts. Try again in a second.", "Too many attempts. Try again in %(num)s seconds.", seconds
        )
        if seconds >= 90:
            wait = say("Too many attempts. Try again in %(minutes)s minutes.", minutes=-(-seconds // 60))
        return cls(wait, retry_after=seconds)


class Unavailable(DomainError):
    """Something this request needs is temporarily unavailable."""

    status, title = 503, N_("Unavailable at the moment")

    def __init__(self, detail: str = "", *, retry_after: int = 5):
        super().__init__(detail, retry_after=retry_after)


OUTDATED_PAGE = N_("This page is out of date. Reload it and try again.")


class OutOfDate(Unavailable):
    """The source of something was forgotten or is no longer shared; making it again will succeed."""

    def __init__(self) -> None:
        super().__init__(N_("Something it was made from has just been forgotten. Try again."), retry_after=1)


def require(thing: T | None, otherwise: str, /, **values: Any) -> T:
    """Return something that must exist. Raises NotFound, in the words of `otherwise`."""
    if thing is None:
        raise NotFound(otherwise, **values)
    return thing


def reason(error: BaseException) -> str:
    """Return what a file, a disk or a database says is wrong, on one line."""
    original = getattr(error, "orig", None)
    detail = str(original.args[-1] if original is not None and original.args else error)
    return (detail or type(error).__name__).partition("\n")[0].rstrip(".")
