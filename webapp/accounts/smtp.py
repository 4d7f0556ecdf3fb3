"""Sends one e-mail by SMTP as the SMTP_* settings say. Its content is up to the caller."""

import hashlib
import io
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, cast

from webapp.config import Settings
from webapp.db.base import now
from webapp.errors import Unavailable

SECONDS = 20.0
"""Seconds that the server may take for a reply, to its end."""
MAX_BYTES = 65_536
"""The most bytes of a reply."""


class MailRefused(Exception):
    """The mail server permanently refuses this message."""


class MailUnavailable(Unavailable):
    """The mail server cannot be reached or used at the moment; trying again may help."""


class MailDeliveryUnknown(MailUnavailable):
    """The connection broke while the message was handed over: the mail server may have taken it."""


class _Replies(io.RawIOBase):
    """A server's replies, each up to its limits: smtplib would read the lines of one for ever."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._end, self._left = connection, 0.0, 0

    def await_next(self) -> None:
        """Begin the limits of the next reply."""
        self._end, self._left = time.monotonic() + SECONDS, MAX_BYTES

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Return how many bytes have been read. Raises TimeoutError, OSError."""
        seconds = self._end - time.monotonic()
        if seconds <= 0 or self._left <= 0:
            raise TimeoutError("the reply has no end")
        self._connection.settimeout(seconds)
        size = self._connection.recv_into(buffer)
        self._connection.settimeout(SECONDS)
        self._left -= size
        return size


class _Limited(smtplib.SMTP):
    """A client that reads no reply without an end."""

    def getreply(self) -> tuple[int, bytes]:
        """Return the code and the text of a reply."""
        self.file = self.file or io.BufferedReader(_Replies(cast(socket.socket, self.sock)))
        self.file.raw.await_next()
        return super().getreply()


class _LimitedTLS(_Limited, smtplib.SMTP_SSL):
    """The same, over TLS from the first byte."""


def check(settings: Settings) -> None:
    """Connect to the mail server and sign in, but send nothing. Raises MailUnavailable."""
    with _sign_in(settings):
        pass


def send(
    settings: Settings, to: str, subject: str, text: str, key: str, *, before: Callable[[], object] | None = None
) -> None:
    """Send a plain message, calling `before` once the server has let us in. Raises MailRefused, MailUnavailable.

    A message that is sent again under its key has the same Message-ID, by which mail servers and readers know it.
    """
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = settings.smtp_from, to, subject
    message["Date"] = format_datetime(now())
    digest = hashlib.sha256("\0".join((settings.site_url, key, to, subject, text)).encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{digest}@{settings.smtp_from.rpartition('@')[2].rstrip('>') or 'localhost'}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    with _sign_in(settings) as server:
        if before is not None:
            before()
        server.send_message(message)
        with suppress(smtplib.SMTPException, OSError):  # the message has been taken, whatever comes now
            server.quit()


@contextmanager
def _sign_in(settings: Settings) -> Iterator[smtplib.SMTP]:
    """Yield a connection to the mail server that has let us in, and raise its errors as ours."""
    away: type[MailUnavailable] = MailUnavailable
    try:
        if settings.smtp_tls == "tls":
            server: smtplib.SMTP = _LimitedTLS(
                settings.smtp_host, settings.smtp_port, timeout=SECONDS, context=ssl.create_default_context()
            )
        else:
            server = _Limited(settings.smtp_host, settings.smtp_port, timeout=SECONDS)
        with server:
            if settings.smtp_tls == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.smtp_user:
                server.login(settings.smtp_user, settings.smtp_password)
            away = MailDeliveryUnknown
            yield server
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise (MailRefused if all(code >= 500 for code in codes) else MailUnavailable)(
            f"recipient refused: {codes}"
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise MailUnavailable(f"{type(error).__name__}: check SMTP_TLS and SMTP_USER") from None
    except smtplib.SMTPResponseException as error:
        is_refused = isinstance(error, smtplib.SMTPDataError | smtplib.SMTPSenderRefused) and error.smtp_code >= 550
        raise (MailRefused if is_refused else MailUnavailable)(f"{type(error).__name__} {error.smtp_code}") from None
    except ssl.SSLCertVerificationError as error:
        reason = error.verify_message.rstrip(".")
        raise MailUnavailable(
            f"the certificate of {settings.smtp_host} is not trusted: {reason}. SMTP_HOST must be the name it is for; "
            "SSL_CERT_FILE may name a file with your own authority"
        ) from None
    except ssl.SSLError as error:
        raise away(f"no TLS with {settings.smtp_host}: {error.reason}; check SMTP_TLS and SMTP_PORT") from None
    except (smtplib.SMTPException, OSError) as error:
        raise away(type(error).__name__) from None
