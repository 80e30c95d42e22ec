"""Lakes in S3, Google Cloud Storage and Azure, through obstore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from millpond.blobs.checked_puts import CheckedPuts
from millpond.blobs.location import Location, unusable
from millpond.blobs.objects import ObjectStore
from millpond.blobs.retry import RetryingStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.sigv4 import Keys
from millpond.blobs.store import BlobStore
from millpond.errors import BadRequest
from millpond.model.address import is_local_host
from millpond.proxy import configured_proxy

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_SECRETS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_AZURE_SECRETS = {"account_name": "AZURE_STORAGE_ACCOUNT_NAME", "account_key": "AZURE_STORAGE_ACCOUNT_KEY"}
_NO_RETRY: RetryConfig = {"max_retries": 0}


def open_s3(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> BlobStore:
    return RetryingStore(_s3(location, environment))


def _s3(location: Location, environment: Mapping[str, str]) -> ObjectStore:
    _check_bucket(location)
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


def open_gcs(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> BlobStore:
    _check_bucket(location)
    _refuse_unknown(location.options)
    options = _client_options(None, environment)
    prefix = location.prefix or None
    store = GCSStore(location.bucket, prefix=prefix, client_options=options, retry_config=_NO_RETRY)
    return RetryingStore(ObjectStore(store))


def open_azure(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> BlobStore:
    return RetryingStore(_azure(location, environment))


def _azure(location: Location, environment: Mapping[str, str]) -> ObjectStore:
    _check_bucket(location)
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


def open_at(url: str, endpoint: str, environment: Mapping[str, str]) -> ObjectStore:
    """The store at `url`, reached through another endpoint; to sign with, so it does not retry.

    BadRequest for a store that is reached at one place only.
    """
    location = Location.parse(url)
    openers = {"s3": _s3, "az": _azure}
    if location.scheme not in openers:
        raise BadRequest(
            f"A lake at {location.scheme}:// has one endpoint only.",
            hint="Endpoints of sites work with lakes in S3, in Azure, and in a directory of the server.",
        )
    options = {**location.options, "endpoint": endpoint}
    return openers[location.scheme](replace(location, options=options), environment)


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


def _check_bucket(location: Location) -> None:
    if not location.bucket:
        raise unusable(f"{location.scheme}:///{location.prefix}")
