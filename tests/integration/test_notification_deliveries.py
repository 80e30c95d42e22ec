"""Deliveries to a real mail server and a real receiver of webhooks: what arrives, and what comes of every failure."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

from millpond.db import notices, notification_channels, notification_deliveries, notifications, projects, users
from millpond.decide.notifications.retries import GIVEN_UP_AFTER
from millpond.errors import AddressRefused, Invalid, TooMany
from millpond.model.notification import Delivery, DeliveryState, Notice, NotificationKind, SmtpTls
from millpond.model.people import Actor, ActorKind, Role, User
from millpond.sealing import Seal
from millpond.services.deps import Deps
from millpond.services.notifications import channels, delivering, smtp_server, telling, webhook
from millpond.services.notifications.channels import ChannelView
from millpond.services.notifications.smtp_server import SmtpWanted
from millpond.settings import Settings
from millpond.testing.clock import FakeClock
from millpond.testing.mail import Mail, Receiver, running_mail, running_receiver
from millpond.testing.server import add_user, making_deps

FAILED, BROKEN = NotificationKind.JOB_FAILED, NotificationKind.CHANNEL_FAILING
FROM = "millpond@lab.example"
SOON, WINDOW = timedelta(seconds=5), timedelta(minutes=5)


def trusting(mail: Mail) -> AbstractContextManager[object]:
    """Its certificate vouches for itself."""
    return patch.dict("os.environ", {"SSL_CERT_FILE": str(mail.certificate)})


class World:
    """A server without loops, and a user `ada` whom things happen to."""

    def __init__(self, deps: Deps, clock: FakeClock) -> None:
        self.deps, self.clock = deps, clock
        self.ada = add_user(deps, "ada", roles={"default": Role.MEMBER})
        self.root = add_user(deps, "root", is_admin=True)

    def acting(self, user: User | None = None) -> Actor:
        user = user or self.ada
        with self.deps.db.read() as tx:
            roles = projects.roles_of(tx, user.id)
        return Actor(ActorKind.USER, user.name, user_id=user.id, is_admin=user.is_admin, roles=roles)

    def smtp(self, mail: Mail, tls: str = "none", login: tuple[str, str] | None = None) -> None:
        wanted = SmtpWanted(host="127.0.0.1", port=mail.port, sender=FROM, tls=SmtpTls(tls))
        if login is not None:
            wanted = replace(wanted, user=login[0], password=login[1])
        smtp_server.put(self.deps, self.acting(self.root), wanted)

    def add(self, *, email: str | None = None, url: str | None = None) -> ChannelView:
        return channels.add(
            self.deps, self.acting(), None, name="way-out", email=email, url=url, kinds=[FAILED, BROKEN]
        )

    def happen(self, title: str = "Job train failed", count: int = 1) -> None:
        with self.deps.db.write() as tx:
            project = projects.find(tx, "default")
            assert project is not None
            notice = Notice(
                kind=FAILED, at=self.clock.now(), title=title, text="Exit code 3.", link="/projects/default/jobs/job1",
                project_id=project.id, owner="ada", subject_id="job1",
            )  # fmt: skip
            notices.insert(tx, *[notice] * count)
        telling.tell_all(self.deps, self.clock.now())

    def send(self, after: timedelta = SOON) -> int:
        return delivering.send_due(self.deps, self.clock.advance(after.total_seconds()))

    def deliveries(self) -> list[Delivery]:
        with self.deps.db.read() as tx:
            found = notification_channels.find(tx, channels.owner_of(self.acting(), None), "way-out")
            assert found is not None
            return list(notification_deliveries.page(tx, found.id, limit=100))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = FakeClock()
    settings = Settings(
        data_dir=tmp_path / "server", import_hosts="127.0.0.1,hooks.test", public_url="https://mill.example"
    )
    with making_deps(settings, clock=clock) as deps:
        yield World(deps, clock)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as made:
        yield made


def test_an_e_mail_over_starttls_with_a_password(world: World, tmp_path: Path) -> None:
    with running_mail(tmp_path, tls="starttls", login=("millpond", "s3cret")) as mail, trusting(mail):
        world.smtp(mail, "starttls", ("millpond", "s3cret"))
        world.add(email="ada@example.org")
        world.happen("Job tr\u00e4in\r\nBcc: eve@example.org failed")
        assert world.send() == 1
        assert world.send() == 0
    [message] = mail.messages
    assert (mail.recipients, mail.over_tls) == ([["ada@example.org"]], [True])
    assert message["Subject"] == "[Millpond] Job tr\u00e4in Bcc: eve@example.org failed (default)"
    assert (message["From"], message["To"], message["Reply-To"], message["Bcc"]) == (
        FROM,
        "ada@example.org",
        None,
        None,
    )
    plain, rich = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None and rich is not None
    assert "https://mill.example/projects/default/jobs/job1" in plain.get_content()
    assert "Exit code 3." in rich.get_content()
    [sent] = world.deliveries()
    assert (sent.state, sent.status, sent.attempts) == (DeliveryState.SENT, 250, 1)
    # The same message sent again would have the same id.
    assert message["Message-ID"] == f"<{sent.id}@lab.example>"


def test_an_e_mail_over_tls_from_the_first_byte(world: World, tmp_path: Path) -> None:
    with running_mail(tmp_path, tls="tls") as mail, trusting(mail):
        world.smtp(mail, "tls")
        assert smtp_server.test(world.deps, world.acting(world.root), "root@example.org").works
    assert mail.messages[0]["Subject"] == "[Millpond] Test"


def test_what_a_mail_server_refuses_is_said(world: World, tmp_path: Path) -> None:
    root = world.acting(world.root)
    with running_mail(tmp_path / "a", tls="starttls", login=("millpond", "right")) as mail:
        world.smtp(mail, "starttls", ("millpond", "right"))
        said = smtp_server.test(world.deps, root, "ada@example.org")
        assert "TLS with the mail server" in (said.problem or "")  # nobody vouches for its certificate
        with trusting(mail):
            world.smtp(mail, "starttls", ("millpond", "wrong"))
            said = smtp_server.test(world.deps, root, "ada@example.org")
            assert (said.status, "refused the user name or password" in (said.problem or "")) == (535, True)
    with running_mail(tmp_path / "b") as mail:
        world.smtp(mail, "starttls")
        said = smtp_server.test(world.deps, root, "ada@example.org")
        assert "STARTTLS" in (said.problem or "")
        mail.refuses.add("nobody@example.org")
        world.smtp(mail)
        said = smtp_server.test(world.deps, root, "nobody@example.org")
        assert (said.status, said.is_final) == (550, True)
        assert "no such mailbox" in (said.problem or "")
    said = smtp_server.test(world.deps, root, "ada@example.org")
    assert f"127.0.0.1:{mail.port} cannot be reached" in (said.problem or "")
    assert mail.messages == []


def test_a_password_stays_with_the_host_it_was_entered_for(world: World) -> None:
    root = world.acting(world.root)
    kept = SmtpWanted(host="smtp.example.org", sender=FROM, user="millpond", password="s3cret")
    first = smtp_server.put(world.deps, root, kept)
    assert b"s3cret" not in (first.password or b"")
    assert smtp_server.put(world.deps, root, replace(kept, password=None, port=2525)).password == first.password
    for other in (replace(kept, password=None, host="evil.test"), replace(kept, password=None, user="eve")):
        with pytest.raises(Invalid, match="password is missing"):
            smtp_server.put(world.deps, root, other)
    with pytest.raises(Invalid, match="without TLS"):
        smtp_server.put(world.deps, root, replace(kept, tls=SmtpTls.NONE))


def test_mail_that_cannot_be_sent_is_kept_and_sent_later_as_one(world: World, tmp_path: Path) -> None:
    with running_mail(tmp_path) as mail:
        world.smtp(mail)
    world.add(email="ada@example.org")
    world.happen()
    assert world.send() == 1
    world.happen(count=40)
    assert world.send() == 0  # 30 seconds have to pass, and the older goes first
    assert world.send(timedelta(seconds=30)) == 1
    with running_mail(tmp_path) as mail:
        world.smtp(mail)
        assert world.send(WINDOW) == 2
    assert [message["Subject"] for message in mail.messages] == [
        "[Millpond] Job train failed (default)",
        "[Millpond] 40 jobs failed in default",
    ]
    assert [one.attempts for one in world.deliveries()] == [1, 3]


def test_nothing_is_lost_when_a_server_is_killed_while_it_sends(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    world.happen()
    killed = patch("millpond.services.notifications.delivering._note", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # it was sent, and nobody noted that
        world.send()
    assert world.send() == 0  # the claim of the server that was
    assert world.send(timedelta(minutes=3)) == 1
    assert [one.state for one in world.deliveries()] == [DeliveryState.SENT]
    first, again = receiver.documents
    assert first["id"] == again["id"]
    assert [headers["X-Mill-Delivery"] for headers in receiver.headers] == [first["id"]] * 2


def test_a_webhook_is_signed_and_says_what_happened(world: World, receiver: Receiver) -> None:
    made = world.add(url=receiver.url)
    world.happen(count=3)
    assert world.send() == 1
    [body], [headers] = receiver.bodies, receiver.headers
    assert made.secret is not None
    signed = hmac.new(made.secret.encode(), headers["X-Mill-Timestamp"].encode() + b"." + body, sha256).hexdigest()
    assert headers["X-Mill-Signature"] == f"sha256={signed}"
    assert headers["Content-Type"] == "application/json"
    [document] = receiver.documents
    assert (document["schema"], document["text"], document["count"]) == (
        "millpond.notification/1", "3 jobs failed in default", 3,
    )  # fmt: skip
    assert document["items"][0]["url"] == "https://mill.example/projects/default/jobs/job1"
    # Neither the path of the URL nor the secret is shown again, or lies in the database in the clear.
    [known] = channels.list_all(world.deps, channels.owner_of(world.acting(), None))
    assert (known.channel.shown, known.secret) == (f"http://127.0.0.1:{receiver.port}/…", None)
    assert b"secret-path" not in (known.channel.sealed or b"")


def test_a_webhook_that_fails_is_tried_again_and_given_up_in_the_end(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    receiver.answers = [500]
    world.happen()
    world.send()
    [waiting] = world.deliveries()
    assert (waiting.state, waiting.status, waiting.attempts) == (DeliveryState.WAITING, 500, 1)
    assert "secret-path" not in (waiting.problem or "")
    tries = 0
    while world.deliveries()[-1].state is DeliveryState.WAITING:
        tries += world.send(timedelta(minutes=30))
        assert tries < 60
    assert len(receiver.bodies) == 1 + tries
    [over] = world.deliveries()
    assert over.state is DeliveryState.GAVE_UP
    assert over.ended_at is not None and over.ended_at - over.created_at <= GIVEN_UP_AFTER + timedelta(hours=1)
    telling.tell_all(world.deps, world.clock.now())
    with world.deps.db.read() as tx:
        told = [one for one in notifications.page(tx, world.ada.id, among=None, limit=9) if one.kind is BROKEN]
    assert "answered 500" in told[0].items[0].text and "Job train failed" in told[0].items[0].text
    assert len(world.deliveries()) == 1  # a channel does not tell of its own failure


@pytest.mark.parametrize(("status", "state"), [(307, "gave-up"), (410, "gave-up"), (404, "waiting"), (429, "waiting")])
def test_answers_of_webhooks(world: World, receiver: Receiver, status: int, state: str) -> None:
    world.add(url=receiver.url)
    receiver.answers = [status]
    world.happen()
    assert world.send() == 1
    [found] = world.deliveries()
    assert found.state.value == state
    assert len(receiver.bodies) == 1  # no redirect is followed
    assert str(status) in (found.problem or "")


def test_webhooks_that_cannot_be_reached(world: World, receiver: Receiver) -> None:
    document = {"schema": "x"}

    def call(url: str) -> webhook.Outcome:
        reach = webhook.Reach.parse(world.deps.settings.import_hosts)
        return webhook.call(reach, url, "secret", document, delivery_id="d", now=world.clock.now())

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        refused = call(f"http://127.0.0.1:{nobody.getsockname()[1]}/secret-path")
    assert "cannot be connected to" in (refused.problem or "") and "secret-path" not in (refused.problem or "")
    assert not refused.is_final
    with patch("socket.getaddrinfo", side_effect=socket.gaierror("Name or service not known")):
        assert "hooks.test" in (call("https://hooks.test/x").problem or "")
    # What is not listed and leads to this machine is not called, whatever it is named.
    with patch("socket.getaddrinfo", return_value=[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", 443))]):
        said = call("https://innocent.example/x")
    assert ("not a public address" in (said.problem or ""), said.is_final) == (True, True)


def test_a_webhook_that_answers_a_byte_at_a_time_is_left(world: World) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, patch.object(webhook, "_SECONDS", 0.5):
        over = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not over.wait(0.02):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        reach = webhook.Reach.parse("127.0.0.1")
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        try:
            said = webhook.call(reach, url, "secret", {}, delivery_id="d", now=world.clock.now())
        finally:
            over.set()
            thread.join()
    assert said.problem is not None and not said.is_final


def test_addresses_that_cannot_be_used_are_refused_when_they_are_added(world: World) -> None:
    for email in ("ada", "ada@example.org\r\nBcc: eve@example.org", "a" * 300 + "@example.org"):
        with pytest.raises(Invalid):
            world.add(email=email)
    with pytest.raises(Invalid, match="Your e-mail address is not known"):
        world.add(email="")
    for url in ("https://10.0.0.1/", "http://example.org/"):
        with pytest.raises(AddressRefused):
            world.add(url=url)
    with pytest.raises(Invalid):
        channels.add(world.deps, world.acting(), None, name="x", email="a@b.example", url="https://x.org", kinds=None)


def test_what_was_gathered_is_not_told_once_somebody_has_left(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    world.happen()
    with world.deps.db.write() as tx:
        project = projects.find(tx, "default")
        assert project is not None
        projects.remove_member(tx, project.id, world.ada.id)
    assert world.send() == 1
    assert receiver.bodies == []
    assert [one.state for one in world.deliveries()] == [DeliveryState.DROPPED]


def test_a_user_who_cannot_sign_in_gets_nothing(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    world.happen()
    with world.deps.db.write() as tx:
        users.set_disabled(tx, world.ada.id, world.clock.now())
    assert world.send() == 1
    assert receiver.bodies == []


def test_a_lost_key_is_said_and_tried_again(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    world.happen()
    world.clock.advance(5)
    delivering.send_due(replace(world.deps, seal=Seal.throwaway()), world.clock.now())
    [found] = world.deliveries()
    assert (found.state, found.attempts) == (DeliveryState.WAITING, 1)
    assert "another key" in (found.problem or "")


def test_a_channel_is_tested_at_once_but_not_again_and_again(world: World, receiver: Receiver) -> None:
    world.add(url=receiver.url)
    assert channels.test(world.deps, world.acting(), None, "way-out").works
    assert receiver.documents[0]["test"] is True
    with pytest.raises(TooMany):
        channels.test(world.deps, world.acting(), None, "way-out")
    receiver.answers = [500]
    world.clock.advance(6)
    said = channels.test(world.deps, world.acting(), None, "way-out")
    assert (said.works, said.status) == (False, 500)


def test_a_channel_without_a_mail_server_says_so(world: World) -> None:
    world.add(email="ada@example.org")
    said = channels.test(world.deps, world.acting(), None, "way-out")
    assert "sends no e-mail" in (said.problem or "") and "smtp set" in (said.hint or "")
