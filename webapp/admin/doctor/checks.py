"""Checks of the parts of an installation: keys, data, database, Redis, queues and workers, disk, model."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from redis.exceptions import NoPermissionError, RedisError
from rq.command import PUBSUB_CHANNEL_TEMPLATE
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts import site, smtp
from webapp.admin import overview
from webapp.admin.doctor.findings import Finding, clock, fault, ok, warning
from webapp.admin.doctor.tables import tables
from webapp.admin.health import LITTLE_DISK, LONG_QUEUE_SECONDS
from webapp.cli.launch.privacy import PRIVATE_FILES, is_open_to_others, is_ours
from webapp.config import Settings
from webapp.db.base import db
from webapp.db.conflicts import forget_session
from webapp.db.engine import public_url
from webapp.errors import Unavailable, reason
from webapp.extensions import app_settings, redis
from webapp.files.storage import Folder, file_storage
from webapp.llm.errors import classify_exception
from webapp.llm.sdk import sync_client
from webapp.providers.model_choice import status
from webapp.readiness import readiness
from webapp.redis.clients import server_of
from webapp.retrieval.changes import CHANNEL, CHANNELS

MODEL_SECONDS = 8.0
VENDOR = Path(__file__).resolve().parents[3] / "static" / "vendor"

Check = Callable[[], Iterator[Finding]]


def run_checks(checks: tuple[Check, ...]) -> list[Finding]:
    """Run every check; one that raises is a finding itself."""
    findings: list[Finding] = []
    for check in checks:
        part = getattr(check, "__name__", "proxy").replace("_", " ")
        try:
            findings.extend(check())
        except (SQLAlchemyError, RedisError, OSError) as error:
            findings.append(fault(part, f"cannot be checked: {reason(error)}", "Put that right, and try again."))
        finally:
            forget_session()
    return findings


def keys() -> Iterator[Finding]:
    """SECRET_KEY and the keys of tombstones."""
    settings = app_settings()
    if settings.secret_key:
        yield ok("keys", "SECRET_KEY is set")
    elif settings.database_url and not settings.database_url.startswith("sqlite"):
        yield warning(
            "keys",
            f"SECRET_KEY is kept in {settings.var_dir / 'secret_key'}: every machine makes its own",
            "Set SECRET_KEY to the same text everywhere (`openssl rand -hex 32`), before you add a machine.",
        )
    else:
        yield ok("keys", f"SECRET_KEY is kept in {settings.var_dir / 'secret_key'}")
    if settings.secret_key and not settings.tombstone_keys:
        yield warning(
            "keys",
            "what was forgotten stays forgotten through SECRET_KEY",
            "Before you change it, set TOMBSTONE_KEYS to what `flask --app wsgi memories tombstone-key` prints.",
        )


def data() -> Iterator[Finding]:
    """Yield whether others on this machine can read the data, and how much room is left."""
    folder = app_settings().var_dir.absolute()
    open_paths = [path for pattern in PRIVATE_FILES for path in folder.glob(pattern) if is_open_to_others(path)]
    if is_ours(folder) and is_open_to_others(folder):
        open_paths.insert(0, folder)
    if open_paths:
        yield fault(
            "data",
            f"others on this machine can use {', '.join(map(str, open_paths[:3]))}",
            f"They belong to another user: chown -R them to the one that runs Commonplace, then chmod -R go= {folder}.",
        )
    else:
        yield ok("data", f"{folder} is accessible to its owner only")
    free = shutil.disk_usage(folder).free
    sentence = f"{free / 1024**3:.1f} GB free in {folder}"
    yield (ok("disk", sentence) if free >= LITTLE_DISK else warning("disk", sentence, "Make room: SQLite needs some."))


def files() -> Iterator[Finding]:
    """Yield whether attachments can be written, read and deleted where they are kept, and nothing deleted is kept."""
    settings, storage = app_settings(), file_storage()
    if not settings.s3_bucket:
        storage.check()
        yield ok("files", f"they are kept in {settings.var_dir.absolute() / 'files'}")
        return
    place = f"the bucket {settings.s3_bucket} at {overview.without_credentials(settings.s3_endpoint) or 'Amazon S3'}"
    try:
        storage.check()
    except (Unavailable, FileNotFoundError):
        advice = (
            "Check S3_ENDPOINT, S3_REGION, the keys, and that they may put, get, list and delete below S3_PREFIX; the "
            "log names the answer."
        )
        yield fault("files", f"{place} cannot be written to and read", advice)
        return
    yield ok("files", f"{place} can be written to, read and deleted from")
    if storage.keeps_versions():
        advice = (
            "Switch versioning off, or let old versions expire at once: people are told that what they delete is gone."
        )
        yield warning("files", f"{place} keeps versions of what is deleted", advice)
    left = sum(1 for _ in islice(Folder(settings.var_dir.absolute() / "files").entries(), 1_000))
    if left:
        advice = "Run `flask --app wsgi files move`, which takes them into the bucket."
        yield warning(
            "files", f"{left} are in {settings.var_dir / 'files'} still, where they are not looked for", advice
        )


def servers() -> Iterator[Finding]:
    """Yield what requests need: the database and Redis accept writes, and the schema is current."""
    parts = {part: state for part, state in readiness().items() if state != "unknown"}
    address = public_url(db.engine)
    advice = {
        "database": f"Check that {address} (DATABASE_URL) runs, takes the password, and lets its user write.",
        "redis": "Check REDIS_URL and that the server runs; give it memory and `maxmemory-policy noeviction`.",
        "migrations": "Run `flask --app wsgi prepare` with this version, once, before the processes start.",
        "missing": f"Put the file of {address} back, or restore a backup: `prepare` begins an installation anew.",
        "locked": "End the program that has locked the file; to copy it, use `flask --app wsgi backup create`.",
        "no tables": f"If {address} is new, run `flask --app wsgi prepare`; if it was in use, restore a backup.",
    }
    parts.pop("tables", None)  # they are checked by themselves, with their columns
    for part, state in parts.items():
        yield ok(part, "ok") if state == "ok" else fault(part, state, advice.get(state, advice[part]))


def database() -> Iterator[Finding]:
    """Yield the database's clock, and whether it has room for the connections of our processes."""
    dialect = db.engine.dialect.name
    address = public_url(db.engine)
    if dialect == "sqlite":
        yield ok("database", f"{address}, for one machine, all of whose processes use the same disk")
        return
    before = datetime.now(UTC)
    server_time = db.session.scalar(text("SELECT UTC_TIMESTAMP(6)"))
    after = datetime.now(UTC)
    yield ok("database", address)
    if server_time is not None:
        yield clock("database", (server_time.replace(tzinfo=UTC) - (before + (after - before) / 2)).total_seconds())
    maximum, settings = int(db.session.scalar(text("SELECT @@max_connections")) or 0), app_settings()
    if maximum < settings.database_pool * 2:
        yield warning(
            "database",
            f"max_connections is {maximum}, and one process may take {settings.database_pool * 2}",
            "Raise max_connections (400 is a good start) or lower DATABASE_POOL.",
        )


def redis_server() -> Iterator[Finding]:
    """Yield which Redis runs, its clock, and whether it drops data when memory is short."""
    client = redis()
    before = datetime.now(UTC).timestamp()
    seconds, microseconds = client.time()
    middle = (before + datetime.now(UTC).timestamp()) / 2
    yield clock("redis", seconds + microseconds / 1e6 - middle)
    info = client.info()
    yield ok("redis", server_of(info))
    try:
        for channel in (*CHANNELS, PUBSUB_CHANNEL_TEMPLATE % "doctor"):
            client.publish(channel, b"0")
    except NoPermissionError:
        yield warning(
            "redis",
            "its user may not use our channels: memory is not read ahead, and no running job can be stopped",
            f"Allow them: ACL SETUSER <user> &{CHANNEL}* &{PUBSUB_CHANNEL_TEMPLATE % '*'}",
        )
    if (policy := info.get("maxmemory_policy", "noeviction")) != "noeviction" and info.get("maxmemory"):
        yield warning(
            "redis",
            f"maxmemory-policy is {policy}: when it is full it drops jobs and running replies",
            "Set maxmemory-policy to noeviction. Nothing is lost for good, but it comes late.",
        )


def queues() -> Iterator[Finding]:
    """Yield whether every queue has a worker and none falls behind, and whether a scheduler runs."""
    work = overview.work(redis())
    if not work.known:
        return  # `servers` has said why
    if idle := work.idle:
        yield fault(
            "workers",
            f"no worker serves {', '.join(idle)}",
            "Start `python -m jobs.worker`, which serves all queues, with the same REDIS_URL and DATABASE_URL.",
        )
    else:
        yield ok("workers", f"{len(work.workers)} are running")
    if not work.has_scheduler:
        yield fault(
            "scheduler", "none is running", "Start `python -m jobs.schedule`: it asks for what is owed and purges."
        )
    else:
        yield ok("scheduler", "one is running")
    for queue in work.queues:
        if queue.waited > LONG_QUEUE_SECONDS:
            advice = "Add workers, or see in the admin area what takes so long."
            yield warning(
                "queues", f"the first job of {queue.name} has been waiting for {queue.waited / 60:.0f} minutes", advice
            )
    if work.failed:
        advice = "Look at Administration, Jobs: each says why; what is still needed is tried again automatically."
        yield warning("queues", f"{work.failed} jobs have failed for good", advice)


def model() -> Iterator[Finding]:
    """Return whether the server that answers does, accepts the key and has the models that are used."""
    answering = status()
    server = answering.server
    db.session.rollback()
    if not answering.is_connected:
        advice = "Connect one under Administration, Models, or set OPENAI_API_KEY or OPENAI_BASE_URL."
        yield warning("model", "no language model is connected: the built-in demonstration answers", advice)
    place = overview.without_credentials(server.base_url)
    try:
        with sync_client(server) as client:
            names = {item.id for item in client.with_options(timeout=MODEL_SECONDS).models.list()}
    except Exception as error:  # whatever a foreign server answers
        advice = "Check its address and key under Administration, Models, or in OPENAI_BASE_URL and OPENAI_API_KEY."
        yield fault("model", f"{place}: {classify_exception(error).detail}", advice)
        return
    yield ok("model", f"{place} answers, with {len(names)} models")
    models = {answering.model} | ({server.background_model} if answering.source != "connection" else set())
    for name in sorted(models - names if names else set()):
        advice = "Check the spelling of its name; some servers list only part of what they have."
        yield warning("model", f"{name} is not in its list", advice)


def web_settings(settings: Settings) -> Iterator[Finding]:
    """Yield settings of the web server that contradict each other or leave the site unprotected."""
    if settings.session_cookie_secure and not settings.trusted_proxies:
        advice = "Set TRUSTED_PROXIES to how many proxies stand in front; without TLS nobody can sign in."
        yield warning("web", "SESSION_COOKIE_SECURE is set and no proxy is trusted", advice)
    if not settings.rate_limits:
        yield warning("web", "RATE_LIMITS is off", "Leave it on where strangers can reach the site.")


def mail() -> Iterator[Finding]:
    """Yield whether the mail server, if there is one, lets us in."""
    settings = app_settings()
    place = f"{settings.smtp_host}:{settings.smtp_port}"
    if not settings.smtp_host:
        return
    try:
        smtp.check(settings)
        yield ok("mail", f"{place} lets us in")
    except smtp.MailUnavailable as error:
        yield fault("mail", f"{place} cannot be used ({error})", "Check the settings that begin with SMTP_.")


def assets(folder: Path = VENDOR) -> Iterator[Finding]:
    """Yield whether what pages load from npm's packages was built: htmx, icons, fonts."""
    if missing := [name for name in ("htmx.js", "icons.svg", "fonts/fonts.css") if not (folder / name).is_file()]:
        advice = "Run `make assets`: it builds static/vendor from the locked npm packages."
        yield fault("pages", f"{', '.join(missing)} missing from {folder}", advice)
    else:
        yield ok("pages", "scripts, icons and fonts are built")


def web() -> Iterator[Finding]:
    """Yield findings about the settings, and whether an address can be taken before its owner comes."""
    settings = app_settings()
    yield from web_settings(settings)
    if settings.oidc_issuer and not settings.smtp_host and site.registration_is_open():
        advice = (
            "Close registration (Administration, People, or REGISTRATION_OPEN=0), or set up mail: whoever makes an "
            "account with somebody else's address keeps that person from signing in through the provider."
        )
        yield warning("web", "anybody may register with any address, and OIDC_ISSUER is set", advice)


CHECKS = (keys, data, files, servers, tables, database, redis_server, queues, model, mail, assets, web)
