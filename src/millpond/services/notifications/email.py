"""Sends a message by SMTP. Every failure is an outcome with words; nothing is raised for what the world does."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from datetime import datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from millpond.decide.notifications.messages import Email
from millpond.errors import SetupError
from millpond.model.notification import SmtpSettings, SmtpTls
from millpond.services.notifications.outcome import Outcome
from millpond.trust import tls_context

_SECONDS = 20.0
_SHOWN = 300
# The mailbox is not there, or may not be written to: the same message would be refused again.
_FINAL = frozenset({550, 551, 552, 553, 554})
_CHECK = "Check the settings: mill notification smtp show"


def written(mail: Email, settings: SmtpSettings, *, to: str, message_id: str, now: datetime) -> EmailMessage:
    """The message as it is sent. ValueError for a header that would begin another one."""
    message = EmailMessage(policy=SMTP)
    message["From"] = settings.sender
    message["To"] = to
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(now)
    # The same whenever it is sent again: mailboxes know it by that.
    message["Message-ID"] = f"<{message_id}@{settings.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    return message


def send(message: EmailMessage, settings: SmtpSettings, password: str | None) -> Outcome:
    """Never inside a transaction."""
    where = f"{settings.host}:{settings.port}"
    try:
        connection = _connect(settings)
        try:
            return _send(connection, message, settings, password)
        finally:
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()
    except smtplib.SMTPNotSupportedError as error:
        return Outcome(problem=f"The mail server {where} cannot do this: {_words(error)}.", hint=_CHECK)
    except smtplib.SMTPAuthenticationError as error:
        said = f"The mail server {where} refused the user name or password ({error.smtp_code})."
        return Outcome(error.smtp_code, said, _CHECK)
    except smtplib.SMTPRecipientsRefused as error:
        code, answer = next(iter(error.recipients.values()))
        said = f"The mail server {where} refused the recipient: {_text(answer)}"
        return Outcome(code, said, "Check the address.", is_final=code in _FINAL)
    except smtplib.SMTPResponseException as error:
        said = f"The mail server {where} answered {error.smtp_code}: {_text(error.smtp_error)}"
        return Outcome(error.smtp_code, said, _CHECK)
    except (ssl.SSLError, ssl.CertificateError) as error:
        return Outcome(problem=f"TLS with the mail server {where} failed: {_words(error)}.", hint=_CHECK)
    except (OSError, smtplib.SMTPException, SetupError) as error:
        return Outcome(problem=f"The mail server {where} cannot be reached: {_words(error)}.", hint=_CHECK)
    except (ValueError, MessageError) as error:
        return Outcome(problem=f"The message cannot be written: {_words(error)}.", is_final=True)


def _connect(settings: SmtpSettings) -> smtplib.SMTP:
    if settings.tls is SmtpTls.TLS:
        return smtplib.SMTP_SSL(settings.host, settings.port, timeout=_SECONDS, context=tls_context())
    connection = smtplib.SMTP(settings.host, settings.port, timeout=_SECONDS)
    if settings.tls is SmtpTls.STARTTLS:
        try:
            connection.starttls(context=tls_context())
        except BaseException:
            connection.close()
            raise
    return connection


def _send(
    connection: smtplib.SMTP, message: EmailMessage, settings: SmtpSettings, password: str | None
) -> Outcome:  # fmt: skip
    if settings.user is not None:
        connection.login(settings.user, password or "")
    connection.send_message(message)
    return Outcome(status=250)


def _words(error: BaseException) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).strip().rstrip(".")[:_SHOWN]


def _text(answer: bytes | str) -> str:
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return " ".join(text.split())[:_SHOWN] or "nothing more"
