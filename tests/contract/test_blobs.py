"""Every blob store keeps the same contract."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import pytest
import urllib3

from millpond.blobs.checked_puts import CheckedPuts
from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.memory import MemoryStore
from millpond.blobs.retry import RetryingStore
from millpond.blobs.sigv4 import Keys
from millpond.blobs.store import CRC32_HEADER, CREATE_HEADER, BlobStore
from millpond.testing import azurite as azurite_server
from millpond.testing.azurite import Azurite
from millpond.testing.blobs import BlobStoreContract
from millpond.testing.rclone import Rclone
from millpond.testing.seaweed import CREDENTIALS, Seaweed


class TestMemory(BlobStoreContract):
    @pytest.fixture
    def store(self) -> BlobStore:
        return MemoryStore()


class TestLocal(BlobStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> BlobStore:
        return LocalStore(tmp_path / "lake")


class TestRetrying(BlobStoreContract):
    @pytest.fixture
    def store(self) -> BlobStore:
        return RetryingStore(MemoryStore())


def crc32_of(body: bytes) -> str:
    return b64encode(crc32(body).to_bytes(4, "big")).decode()


class SignedUrlContract(BlobStoreContract):
    """Stores that sign URLs of their own."""

    checks_crc32 = False

    def test_signed_urls_work_without_credentials(self, store: BlobStore) -> None:
        pool = urllib3.PoolManager(retries=False)
        signed = store.sign("PUT", "a/b", 60)
        assert pool.request("PUT", signed.url, body=b"0123", headers=dict(signed.headers)).status in (200, 201)
        answer = pool.request("GET", store.sign("GET", "a/b", 60).url, headers={"Range": "bytes=1-2"})
        assert (answer.headers["Content-Range"], answer.data) == ("bytes 1-2/4", b"12")
        pool.clear()

    def test_a_put_is_signed_for_a_checksum_only_where_the_store_refuses_others(self, store: BlobStore) -> None:
        signed = store.sign_create("a/b", 60, crc32_of(b"0123"))
        assert (CRC32_HEADER in signed.headers) == self.checks_crc32
        assert list(store.list()) == [], "finding it out leaves nothing behind"
        if self.checks_crc32:
            pool = urllib3.PoolManager(retries=False)
            damaged = pool.request("PUT", signed.url, body=b"0124", headers=dict(signed.headers))
            assert (damaged.status, b"BadDigest" in damaged.data, store.head("a/b")) == (400, True, None)
            assert pool.request("PUT", signed.url, body=b"0123", headers=dict(signed.headers)).status == 200
            assert store.get("a/b") == b"0123"
            again = pool.request("PUT", signed.url, body=b"0123", headers=dict(signed.headers))
            assert again.status == 412, "the URL creates, and does nothing after that"
            pool.clear()

    def test_a_put_without_a_checksum_never_overwrites_where_the_store_heeds_conditions(self, store: BlobStore) -> None:
        signed = store.sign_create("a/b", 60)
        assert CRC32_HEADER not in signed.headers
        assert (CREATE_HEADER in signed.headers) == self.checks_crc32
        pool = urllib3.PoolManager(retries=False)
        answers = [pool.request("PUT", signed.url, body=b"%d" % n, headers=dict(signed.headers)) for n in range(2)]
        assert answers[0].status in (200, 201)
        if self.checks_crc32:
            assert (answers[1].status, store.get("a/b")) == (412, b"0")
        pool.clear()


class TestSeaweed(SignedUrlContract):
    checks_crc32 = True

    @pytest.fixture
    def store(self, seaweed: Seaweed) -> BlobStore:
        return open_store(seaweed.url(uuid4().hex), environment=CREDENTIALS)


class TestRclone(SignedUrlContract):
    honours_if_absent = False

    @pytest.fixture
    def store(self, rclone: Rclone) -> BlobStore:
        return open_store(rclone.url(uuid4().hex), environment=CREDENTIALS)

    def test_the_checksum_is_part_of_what_is_signed(self, rclone: Rclone) -> None:
        """rclone does not check the body, but it checks signatures, which SeaweedFS without identities does not."""
        keys = Keys(CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
        url = f"{rclone.endpoint}/{rclone.bucket}/{uuid4().hex}"
        puts = CheckedPuts(keys, "us-east-1")
        assert puts.sign(url, crc32_of(b"0123"), 60) is None, "nothing is known of the store yet"
        puts.works = puts.only_create = True
        signed = puts.sign(url, crc32_of(b"0123"), 60)
        assert signed is not None
        pool = urllib3.PoolManager(retries=False)
        for headers, status in (
            (dict(signed.headers) | {CRC32_HEADER: crc32_of(b"0124")}, 403),
            ({CRC32_HEADER: crc32_of(b"0123")}, 403),
            ({}, 403),
            (dict(signed.headers), 200),
        ):
            assert pool.request("PUT", signed.url, body=b"0123", headers=headers).status == status
        pool.clear()


@pytest.mark.long
class TestAzurite(SignedUrlContract):
    @pytest.fixture
    def store(self, azurite: Azurite) -> BlobStore:
        return open_store(azurite.url(uuid4().hex), environment=azurite_server.CREDENTIALS)


def _cloud(variable: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(variable not in os.environ, reason=f"not run: {variable} names no bucket")


@pytest.mark.long
@_cloud("MILL_TEST_GCS")
class TestGoogle(SignedUrlContract):
    """With `MILL_TEST_GCS=gs://bucket/prefix` and the usual Google credentials.

    No emulator runs it: obstore lists by the XML interface, which the one on PyPI lacks, and others have no package.
    """

    @pytest.fixture
    def store(self) -> BlobStore:
        return open_store(f"{os.environ['MILL_TEST_GCS']}/{uuid4().hex}")


@pytest.mark.long
@_cloud("MILL_TEST_AZURE")
class TestAzure(SignedUrlContract):
    """With `MILL_TEST_AZURE=az://container/prefix` and the usual AZURE_* credentials."""

    @pytest.fixture
    def store(self) -> BlobStore:
        return open_store(f"{os.environ['MILL_TEST_AZURE']}/{uuid4().hex}")
