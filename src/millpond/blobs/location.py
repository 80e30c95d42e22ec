"""Opens the store a URL names: `file:///dir`, a plain directory, `memory:`, `s3://`, `gs://`, `az://`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from urllib.request import url2pathname

from obstore.store import AzureStore, GCSStore, S3Store

from millpond.blobs.checked_puts import CheckedPuts
from millpond.blobs.local import LocalStore
from millpond.blobs.memory import MemoryStore
from millpond.blobs.objects import ObjectStore
from millpond.blobs.retry import RetryingStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.sigv4 import Keys
from millpond.blobs.store import BlobStore
from millpond.errors import BadRequest, MillError, SetupError
from millpond.model.address import is_local_host
from millpond.proxy import configured_proxy

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_SECRETS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_AZURE_SECRETS = {"account_name": "AZURE_STORAGE_ACCOUNT_NAME", "account_key": "AZURE_STORAGE_ACCOUNT_KEY"}
_NO_RETRY: RetryConfig = {"max_retries": 0}


@dataclass(frozen=True, slots=True)
class Location:
    """A store's URL, taken apart."""

    scheme: str
    bucket: str
    prefix: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, url: str) -> Location:
        parts = urlsplit(url)
        if parts.scheme == "memory":
            return cls("memory", "", "", {})
        if parts.scheme == "file":
            return cls("file", "", url2pathname(parts.path), {})
        if "://" not in url:
            return cls("file", "", url, {})
        return cls._of_bucket(parts, url)

    @classmethod
    def _of_bucket(cls, parts: SplitResult, url: str) -> Location:
        if parts.scheme not in _OPENERS or not parts.netloc:
            raise BadRequest(
                f"{url!r} is not a location for a lake.",
                hint="Write a directory, s3://bucket/prefix?endpoint=…, gs://bucket/prefix or az://container/prefix.",
            )
        return cls(parts.scheme, parts.netloc, unquote(parts.path).strip("/"), dict(parse_qsl(parts.query)))


def open_store(url: str, signer: LocalSigner | None = None, environment: Mapping[str, str] | None = None) -> BlobStore:
    """The store at `url`. `signer` makes the URLs of stores that the server itself serves.

    Credentials of S3 and Azure come from the usual AWS_* and AZURE_* variables of `environment` (the process's own by
    default).
    """
    location = Location.parse(url)
    if location.scheme == "memory":
        return MemoryStore(signer)
    if location.scheme == "file":
        return LocalStore(Path(location.prefix).absolute(), signer)
    try:
        return RetryingStore(_OPENERS[location.scheme](location, os.environ if environment is None else environment))
    except MillError:
        raise
    except Exception as error:
        raise SetupError(f"Cannot open the lake {url!r}: {error}") from error


def _open_s3(location: Location, environment: Mapping[str, str]) -> ObjectStore:
    options = dict(location.options)
    endpoint = options.pop("endpoint", environment.get("AWS_ENDPOINT_URL", "")) or None
    region = options.pop("region", environment.get("AWS_REGION", "us-east-1"))
    path_style = options.pop("path_style", "true" if endpoint else "false")
    _refuse_unknown(options)
    credentials = {name: environment[name.upper()] for name in _SECRETS if name.upper() in environment}
    return ObjectStore(
        S3Store(
            location.bucket,
            prefix=location.prefix or None,
            endpoint=endpoint,
            region=region,
            # The store refuses bytes that were damaged on the way.
            checksum_algorithm="SHA256",
            virtual_hosted_style_request=path_style.lower() not in ("1", "true", "yes"),
            client_options=_client_options(endpoint, environment),
            retry_config=_NO_RETRY,
            **credentials,  # type: ignore[arg-type]  # the keys of S3Config
        ),
        checked_puts=_checked_puts(credentials, region),
    )


def _checked_puts(credentials: Mapping[str, str], region: str) -> CheckedPuts | None:
    """Not where the machine itself gets keys that change from time to time: those are obstore's business."""
    key_id, secret, token = (credentials.get(name) for name in _SECRETS)
    return CheckedPuts(Keys(key_id, secret, token), region) if key_id and secret else None


def _open_gcs(location: Location, environment: Mapping[str, str]) -> ObjectStore:
    _refuse_unknown(location.options)
    options = _client_options(None, environment)
    prefix = location.prefix or None
    return ObjectStore(GCSStore(location.bucket, prefix=prefix, client_options=options, retry_config=_NO_RETRY))


def _open_azure(location: Location, environment: Mapping[str, str]) -> ObjectStore:
    options = dict(location.options)
    endpoint = options.pop("endpoint", environment.get("AZURE_STORAGE_ENDPOINT", "")) or None
    _refuse_unknown(options)
    credentials = {name: environment[key] for name, key in _AZURE_SECRETS.items() if key in environment}
    store = AzureStore(
        location.bucket,
        prefix=location.prefix or None,
        client_options=_client_options(endpoint, environment),
        retry_config=_NO_RETRY,
        **({"endpoint": endpoint} if endpoint else {}),  # type: ignore[arg-type]
        **credentials,  # type: ignore[arg-type]  # the keys of AzureConfig
    )
    return ObjectStore(store, put_headers={"x-ms-blob-type": "BlockBlob"})


def _client_options(endpoint: str | None, environment: Mapping[str, str]) -> ClientConfig:
    """Long enough for a whole pack on a slow line; a local endpoint never goes through a proxy."""
    options: ClientConfig = {"timeout": timedelta(minutes=5), "connect_timeout": timedelta(seconds=10)}
    address = urlsplit(endpoint or "")
    if address.scheme == "http":
        options["allow_http"] = True
    # obstore reads the environment itself, but would reach local addresses through the proxy, too.
    proxy = configured_proxy(address.scheme, environment)
    if proxy and address.hostname and is_local_host(address.hostname):
        options["proxy_url"] = proxy
        options["proxy_excludes"] = address.hostname
    return options


def _refuse_unknown(options: Mapping[str, str]) -> None:
    if options:
        raise BadRequest(
            f"Unknown option {min(options)!r} in the lake's URL.", hint="Known: endpoint, region, path_style."
        )


_OPENERS: dict[str, Callable[[Location, Mapping[str, str]], ObjectStore]] = {
    "s3": _open_s3,
    "gs": _open_gcs,
    "az": _open_azure,
}
