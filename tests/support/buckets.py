"""A server that speaks S3's protocol (moto's), on a port of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from flask import Flask
from moto.server import ThreadedMotoServer

from webapp.config import Settings
from webapp.extensions import app_settings
from webapp.files.storage import file_storage, init_storage

SECRET = "bucket-secret-0123456789abcdef"  # noqa: S105 - of a server that lives for a test


@dataclass
class BucketServer:
    """The server, and the settings that lead to a bucket on it."""

    endpoint: str

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of an installation that uses it."""
        return {
            "s3_bucket": "files",
            "s3_endpoint": self.endpoint,
            "s3_access_key": "tester",
            "s3_secret_key": SECRET,
            "s3_prefix": "commonplace",
        }

    @cached_property
    def client(self) -> Any:
        """Another client for the same bucket; once, as making one reads megabytes."""
        keys = {"aws_access_key_id": "tester", "aws_secret_access_key": SECRET}
        return boto3.session.Session().client("s3", endpoint_url=self.endpoint, region_name="us-east-1", **keys)

    def list_keys(self) -> list[str]:
        """The keys in the bucket."""
        return sorted(row["Key"] for row in self.client.list_objects_v2(Bucket="files").get("Contents", ()))

    def empty(self) -> None:
        """Create the bucket anew, empty."""
        for key in self.list_keys():
            self.client.delete_object(Bucket="files", Key=key)


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    """Start the server with an empty bucket; stop it afterwards."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        made = BucketServer(f"http://{host}:{port}")
        made.client.create_bucket(Bucket="files")
        yield made
    finally:
        server.stop()


@contextmanager
def stored_in(app: Flask, settings: dict[str, Any], var_dir: Path | None = None) -> Iterator[None]:
    """Let an application keep its files elsewhere for a while."""
    before, storage = app_settings.of(app), file_storage.of(app)
    more = settings | ({"var_dir": var_dir} if var_dir else {})
    now = Settings.model_validate(before.model_dump() | more)
    app_settings.put(app, now)
    init_storage(app, now)
    try:
        yield
    finally:
        app_settings.put(app, before)
        file_storage.put(app, storage)
