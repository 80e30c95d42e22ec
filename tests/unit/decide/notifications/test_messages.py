"""How notices, e-mails and documents are worded; addresses that can be used."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.decide.allowed_addresses import Reach
from millpond.decide.notifications import grouping, messages, notices
from millpond.decide.notifications.addresses import check_email, check_webhook, shown_url
from millpond.errors import AddressRefused, Invalid
from millpond.model.job import Job, JobState
from millpond.model.notification import NotificationItem, NotificationKind
from millpond.model.volume import Volume
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON

SERVER = "https://mill.example"


def item(title: str = "Job train failed", *, text: str = "exit code 1") -> NotificationItem:
    return NotificationItem(
        kind=NotificationKind.JOB_FAILED, at=NOON, title=title, text=text, link="/projects/vision/jobs/job1",
        project_id="vision-id", project="vision", subject_id="job1",
    )  # fmt: skip


def delivery(*items: NotificationItem, more: int = 0):  # type: ignore[no-untyped-def]
    found = grouping.new_delivery("d1", "c1", before=None, now=NOON)
    for one in items + (item(),) * more:
        found = grouping.gathered(found, one)
    return found


def test_one_is_told_by_its_title_many_by_their_number() -> None:
    assert messages.summary_of(delivery(item())) == "Job train failed (vision)"
    assert messages.summary_of(delivery(more=500)) == "500 jobs failed in vision"
    mail = messages.email_of(delivery(more=500), server=SERVER)
    assert mail.subject == "[Millpond] 500 jobs failed in vision"
    assert "… and 480 more notifications." in mail.text and "… and 480 more notifications." in mail.html
    assert f"{SERVER}/projects/vision/jobs/job1" in mail.text


def test_names_end_no_header_and_begin_no_tag() -> None:
    nasty = "Job a\r\nBcc: eve@example.org\x00<script>alert(1)</script> failed"
    mail = messages.email_of(delivery(item(nasty, text="<img src=x>")), server=SERVER)
    assert mail.subject == "[Millpond] Job a Bcc: eve@example.org <script>alert(1)</script> failed (vision)"
    assert "<script" not in mail.html and "<img" not in mail.html


def test_a_long_subject_is_cut() -> None:
    assert len(messages.email_of(delivery(item("x" * 300)), server=SERVER).subject) <= 165


def test_a_document_counts_all_and_lists_the_first() -> None:
    document = messages.document_of(delivery(more=30), server=SERVER)
    assert (document["count"], len(document["items"]), document["test"]) == (30, 20, False)
    assert document["counts"] == [{"kind": "job-failed", "project": "vision", "count": 30}]
    assert document["items"][0]["url"] == f"{SERVER}/projects/vision/jobs/job1"


def finished(state: JobState) -> Job:
    return a_job(state=state, reasons=("Submitted.", "Exit code 1."))


def test_a_job_is_told_of_when_it_fails_succeeds_or_has_to_go() -> None:
    running = a_job(state=JobState.RUNNING)
    told = {state: notices.of_job(running, finished(state), NOON) for state in JobState}
    assert {state.value: found.kind.value for state, found in told.items() if found} == {
        "failed": "job-failed", "succeeded": "job-succeeded", "preempted": "job-preempted",
    }  # fmt: skip
    failed = told[JobState.FAILED]
    assert failed is not None
    assert (failed.title, failed.text, failed.link) == (
        "Job train failed", "Exit code 1.", "/projects/default/jobs/job00001",
    )  # fmt: skip
    assert notices.of_job(finished(JobState.FAILED), finished(JobState.FAILED), NOON) is None


VOLUME = Volume("v1", "fast", "s1", "lab", "/pond", 10**12, 0, 0, 90, 80, NOON)


@pytest.mark.parametrize(
    ("free_percent", "was", "is_full"),
    [(4, False, True), (5, False, False), (6, True, True), (8, True, False), (50, True, False), (None, True, True),
     (None, False, False)],
)  # fmt: skip
def test_a_disk_is_nearly_full_until_it_is_well_again(free_percent: int | None, was: bool, is_full: bool) -> None:
    free = None if free_percent is None else free_percent * 10**10
    volume = replace(VOLUME, disk_free_bytes=free, disk_total_bytes=10**12)
    assert notices.is_nearly_full(volume, was=was) is is_full


def test_a_disk_without_inodes_is_full_too() -> None:
    volume = replace(
        VOLUME, disk_free_bytes=9 * 10**11, disk_total_bytes=10**12, inodes_free=10, inodes_total=1_000
    )  # fmt: skip
    assert notices.is_nearly_full(volume, was=False)
    assert notices.of_volume(volume, NOON + timedelta(0)).text.startswith("10 of 1,000 inodes are left at site lab.")


@pytest.mark.parametrize("address", ["ada@example.org", "a.b+c@x-y.example", "ADA@EXAMPLE.ORG", " ada@example.org "])
def test_addresses_of_mailboxes(address: str) -> None:
    assert check_email(address) == address.strip()


@pytest.mark.parametrize(
    "address",
    ["", "ada", "@example.org", "ada@", "ada@-x.org", "ada@exa mple.org", "ada@example.org\r\nBcc: eve@example.org",
     "a..b@example.org", ".a@example.org", "ada@example..org", '"a b"@example.org', "Ada <ada@example.org>",
     "ada@example.org, eve@example.org", "ädä@example.org", f"{'a' * 65}@example.org", f"a@{'b' * 250}.org",
     "a@b\0.org"],
)  # fmt: skip
def test_what_is_no_address_of_a_mailbox(address: str) -> None:
    with pytest.raises(Invalid):
        check_email(address)


def test_domains_that_an_administrator_allows() -> None:
    assert check_email("ada@lab.example.org", domains=["example.org"])
    for other in ("ada@notexample.org", "ada@example.org.evil.test"):
        with pytest.raises(Invalid, match=r"only to example\.org"):
            check_email(other, domains=["example.org"])


@pytest.mark.parametrize(
    "url",
    ["", "hooks.example.org", "ftp://hooks.example.org", "https://", "https://user:pw@hooks.example.org/",
     "https://hooks.example.org/#x", "https://hooks.example.org:99999/", "https://hooks.example.org/ x",
     "https://hooks.example.org\\@evil.test/", "javascript:alert(1)", f"https://hooks.example.org/{'x' * 2000}",
     "https://[::1", "https://hooks.example.org/\r\nX: y"],
)  # fmt: skip
def test_what_is_no_webhook(url: str) -> None:
    with pytest.raises(Invalid):
        check_webhook(url, Reach())


@pytest.mark.parametrize(
    "url", ["http://hooks.example.org/", "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/"]
)  # fmt: skip
def test_webhooks_that_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_webhook(url, Reach())


def test_webhooks_that_an_administrator_allows() -> None:
    reach = Reach.parse("hooks.lab,10.0.0.0/8")
    for url in ("http://hooks.lab/x", "https://10.0.0.1/", "http://10.0.0.1/"):
        assert check_webhook(url, reach) == url


def test_only_the_beginning_of_a_webhook_is_shown() -> None:
    assert shown_url("https://hooks.example.org:8443/services/T0/SECRET?x=1") == "https://hooks.example.org:8443/…"
