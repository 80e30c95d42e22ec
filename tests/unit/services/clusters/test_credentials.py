"""Certificates and tokens of clusters: each has its own, and they are sealed."""

from __future__ import annotations

import pytest
from cryptography import x509

from millpond.errors import Unavailable
from millpond.model.cluster import ClusterKind, ClusterRole
from millpond.sealing import Seal
from millpond.services.clusters.credentials import CA, CERT, KEY, TOKEN, new_credentials, opened, sealed
from millpond.testing.clock import NOON


def test_a_dask_cluster_signs_one_certificate_for_each_role() -> None:
    first, second = (new_credentials(ClusterKind.DASK, name, NOON) for name in ("c1", "c2"))
    authority = x509.load_pem_x509_certificate(first[ClusterRole.CLIENT][CA].encode())
    other = x509.load_pem_x509_certificate(second[ClusterRole.CLIENT][CA].encode())
    for role in ClusterRole:
        certificate = x509.load_pem_x509_certificate(first[role][CERT].encode())
        certificate.verify_directly_issued_by(authority)
        with pytest.raises(ValueError, match="does not match"):
            certificate.verify_directly_issued_by(other)
    assert len({files[KEY] for files in first.values()}) == len(ClusterRole)


def test_what_is_kept_opens_only_with_the_server_s_key_and_for_its_cluster() -> None:
    seal = Seal.throwaway()
    made = new_credentials(ClusterKind.RAY, "c1", NOON)
    kept = sealed(seal, "c1", made)
    assert made[ClusterRole.CLIENT][TOKEN].encode() not in kept
    assert opened(seal, "c1", kept) == made
    for key, cluster in ((seal, "c2"), (Seal.throwaway(), "c1")):
        with pytest.raises(Unavailable):
            opened(key, cluster, kept)
