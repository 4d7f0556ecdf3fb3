"""Bytes of files in a bucket of S3, MinIO, Ceph, Garage, R2 or anything else that speaks the protocol.

At most one part of 8 MB is in memory. A bucket that does not answer is not tried again for RETRY_SECONDS.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.client import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, NoCredentialsError, ReadTimeoutError

from webapp.config import Settings
from webapp.errors import Unavailable
from webapp.files.storage import PIECE, Folder, digest_of
from webapp.i18n.marks import N_
from webapp.llm.process import PerProcess

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 2.0
PART = 8 * 1024**2
UNREACHABLE = N_("The file storage cannot be reached at the moment. Nothing is lost; try again later.")
_MISSING = ("404", "NoSuchKey", "NotFound")

T = TypeVar("T")


class Bucket:
    """A storage in a bucket; `Folder` says what each operation does."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._name = settings.s3_bucket
        self._prefix = f"{settings.s3_prefix.strip('/')}/" if settings.s3_prefix.strip("/") else ""
        self._local = Folder(settings.var_dir.absolute() / "files")
        self._client = PerProcess(self._new_client)
        self._away_until = 0.0
        for name in ("boto3", "botocore", "s3transfer", "urllib3"):
            logging.getLogger(name).setLevel(logging.WARNING)  # they would log what is signed, and every URL

    @contextmanager
    def store(self, key: str, data: BinaryIO) -> Iterator[Path]:
        with self._local.part(data) as path:
            config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, use_threads=False)
            self._ask(lambda client: client.upload_file(str(path), self._name, self._prefix + key, Config=config))
            yield path

    def write(self, key: str, data: bytes) -> None:
        self._ask(lambda client: client.put_object(Bucket=self._name, Key=self._prefix + key, Body=data))

    def read(self, key: str) -> bytes:
        return b"".join(self.pieces(key))

    def pieces(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if length == 0:
            return iter(())
        headers = {"Range": f"bytes={start}-{start + length - 1 if length is not None else ''}"}
        parameters = {"Bucket": self._name, "Key": self._prefix + key} | (
            headers if start or length is not None else {}
        )
        return self._pieces(self._ask(lambda client: client.get_object(**parameters))["Body"])

    @contextmanager
    def on_disk(self, key: str) -> Iterator[Path]:
        with self._local.part(BytesIO()) as path:
            with path.open("wb") as file:
                for piece in self.pieces(key):
                    file.write(piece)
            yield path

    def size(self, key: str) -> int | None:
        try:
            head = self._ask(lambda client: client.head_object(Bucket=self._name, Key=self._prefix + key))
        except FileNotFoundError:
            return None
        return int(head["ContentLength"])

    def delete(self, key: str) -> None:
        """Delete the content, then its pictures: those take a while, in which the same content may be added again."""
        self._delete(key)
        for below in [] if key.endswith(".jpg") else [entry_key for entry_key, _ in self.entries(f"{key}.pictures/")]:
            self._delete(below)

    def entries(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        parameters: dict[str, Any] = {"Bucket": self._name, "Prefix": self._prefix + prefix}
        while True:
            answer = self._ask(lambda client: client.list_objects_v2(**parameters))
            for row in answer.get("Contents", ()):
                yield row["Key"].removeprefix(self._prefix), row["LastModified"].timestamp()
            if not answer.get("IsTruncated"):
                return
            parameters["ContinuationToken"] = answer["NextContinuationToken"]

    def drop_parts(self, before: float) -> int:
        """Abort interrupted multipart uploads, and delete what they left on this disk."""
        count = self._local.drop_parts(before)
        bucket: dict[str, Any] = {"Bucket": self._name, "Prefix": self._prefix}
        for row in self._ask(lambda client: client.list_multipart_uploads(**bucket)).get("Uploads", ()):
            if row["Initiated"].timestamp() < before and digest_of(row["Key"].removeprefix(self._prefix)):
                upload = {"Bucket": self._name, "Key": row["Key"], "UploadId": row["UploadId"]}
                self._ask(methodcaller("abort_multipart_upload", **upload))
                count += 1
        return count

    def check(self) -> None:
        self.write("check/written", b"ok")
        if self.read("check/written") != b"ok" or "check/written" not in dict(self.entries("check/")):
            raise Unavailable(UNREACHABLE)
        self.delete("check/written")

    def keeps_versions(self) -> bool:
        """Return whether the bucket keeps deleted content, as far as it reports."""
        try:
            answer = self._ask(lambda client: client.get_bucket_versioning(Bucket=self._name))
        except (Unavailable, FileNotFoundError):  # not every server supports this
            return False
        return bool(answer.get("Status") == "Enabled")

    def _delete(self, key: str) -> None:
        self._ask(methodcaller("delete_object", Bucket=self._name, Key=self._prefix + key))

    def _ask(self, work: Callable[[Any], T]) -> T:
        """Return the result of a call, made again unless it is too slow. Raises FileNotFoundError, Unavailable."""
        if time.monotonic() < self._away_until:
            raise Unavailable(UNREACHABLE)
        for is_last in (False, True):
            try:
                return work(self._client())
            except (BotoCoreError, ClientError, Boto3Error, OSError) as error:
                cause = error.__context__ if isinstance(error, Boto3Error) and error.__context__ else error
                answer = getattr(cause, "response", None) or {}
                code = str(answer.get("Error", {}).get("Code", ""))
                if code in _MISSING:
                    raise FileNotFoundError(code) from None
                status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
                slow = isinstance(cause, ConnectTimeoutError | ReadTimeoutError | NoCredentialsError)
                if is_last or slow or status < 500:
                    log.warning("the bucket cannot be used", extra={"problem": code or type(cause).__name__})
                    self._away_until = time.monotonic() + RETRY_SECONDS if status >= 500 else 0.0
                    raise Unavailable(UNREACHABLE) from None
        raise AssertionError("the second try returns or raises")

    def _new_client(self) -> Any:
        settings = self._settings
        keys = {}
        if settings.s3_access_key:
            keys = {"aws_access_key_id": settings.s3_access_key, "aws_secret_access_key": settings.s3_secret_key}
        return boto3.session.Session(region_name=settings.s3_region).client(
            "s3",
            endpoint_url=settings.s3_endpoint or None,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS,
                retries={"total_max_attempts": 1},
                max_pool_connections=50,
                s3={"addressing_style": "path" if settings.s3_endpoint else "auto"},
                # Checksums in trailers are specific to Amazon; others refuse them.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
            **keys,
        )

    def _pieces(self, body: Any) -> Iterator[bytes]:
        with body:
            try:
                yield from iter(lambda: body.read(PIECE), b"")
            except (BotoCoreError, OSError):
                raise Unavailable(UNREACHABLE) from None
