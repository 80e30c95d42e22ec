"""Users, projects, members and the audit trail through the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from millpond.model.people import Role
from millpond.testing.server import RunningServer


def test_create_and_list_users(server: RunningServer) -> None:
    admin = server.admin
    made = admin.post("/users", json={"name": "maria", "password": "long enough", "full_name": "Maria"})
    assert made.status_code == 201 and "password" not in made.text
    assert [user["name"] for user in admin.get("/users").json()["items"]] == ["admin", "maria"]
    again = admin.post("/users", json={"name": "maria", "password": "long enough"})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


@pytest.mark.parametrize("name", ["", "Maria", "a b", "a/b", "..", "mária", "x" * 64])
def test_names_that_are_none(server: RunningServer, name: str) -> None:
    for path, body in (("/users", {"name": name, "password": "long enough"}), ("/projects", {"name": name})):
        refused = server.admin.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (400, "bad_name")


def test_short_password(server: RunningServer) -> None:
    refused = server.admin.post("/users", json={"name": "maria", "password": "short"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


def test_users_see_themselves_only(server: RunningServer) -> None:
    maria = server.user("maria")
    server.user("eve")
    assert maria.get("/users/maria").status_code == 200
    hidden, missing = maria.get("/users/eve").json(), maria.get("/users/eva").json()
    assert hidden["detail"].replace("eve", "eva") == missing["detail"]
    assert hidden["hint"] == missing["hint"]
    assert maria.patch("/users/maria", json={"is_admin": True}).status_code == 403
    assert maria.patch("/users/maria", json={"full_name": "Maria"}).json()["full_name"] == "Maria"


def test_last_administrator_stays(server: RunningServer) -> None:
    admin = server.admin
    for change in ({"is_admin": False}, {"disabled": True}):
        refused = admin.patch("/users/admin", json=change)
        assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    second = server.user("second", is_admin=True)
    assert second.patch("/users/admin", json={"is_admin": False}).status_code == 200


def test_deleting_a_user_others_depend_on(server: RunningServer) -> None:
    admin = server.admin
    server.user("maria", roles={"vision": Role.ADMIN})
    refused = admin.delete("/users/maria")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert refused.json()["details"]["depends"] == ["project vision"]
    assert admin.put("/projects/vision/members/admin", json={"role": "admin"}).status_code == 200
    assert admin.delete("/users/maria").status_code == 204
    assert admin.get("/users/maria").status_code == 404


def test_deleting_a_user_whose_work_goes_on(server: RunningServer) -> None:
    admin = server.admin
    maria = server.user("maria", roles={"vision": Role.MEMBER})
    job = maria.post("/projects/vision/jobs", json={"name": "night", "command": ["true"]})
    run = maria.post("/projects/vision/runs", json={"name": "notebook"})
    assert (job.status_code, run.status_code) == (201, 201), job.text + run.text
    refused = admin.delete("/users/maria")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert refused.json()["details"]["depends"] == ["job vision/night", "run vision/notebook"]
    assert "disable" in refused.json()["hint"]
    assert admin.patch("/users/maria", json={"disabled": True}).json()["disabled_at"]
    assert maria.get("/projects").status_code == 401, "disabled at once"
    assert admin.get("/projects/vision/jobs/night").json()["state"] == "queued", "and the job goes on"
    assert admin.patch("/users/maria", json={"disabled": False}).json()["disabled_at"] is None
    assert maria.get("/projects").status_code == 401, "and the token stays gone"
    maria = server.client(server.token_of("maria"))
    assert maria.post("/projects/vision/jobs/night/stop").status_code == 200
    ended = {"sequence": 0, "writer": "notebook", "ended": "succeeded"}
    assert maria.post(f"/projects/vision/runs/{run.json()['id']}/batch", json=ended).status_code == 204
    assert admin.delete("/users/maria").status_code == 204


def test_projects_one_has_a_role_in(server: RunningServer) -> None:
    maria = server.user("maria", roles={"vision": Role.MEMBER})
    server.project("hidden")
    assert [(p["name"], p["role"]) for p in maria.get("/projects").json()["items"]] == [("vision", "member")]
    assert maria.get("/session").json()["projects"] == [{"project": "vision", "role": "member"}]


def test_lists_come_in_pages(server: RunningServer) -> None:
    admin = server.admin
    for number in range(5):
        server.project(f"p{number}")
    names, cursor = [], None
    for _ in range(10):
        page = admin.get("/projects", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        names += [project["name"] for project in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert names == ["default", "p0", "p1", "p2", "p3", "p4"]


def test_members_come_and_go(server: RunningServer) -> None:
    boss = server.user("boss", roles={"vision": Role.ADMIN})
    maria = server.user("maria")
    assert maria.get("/projects/vision").status_code == 404
    assert boss.put("/projects/vision/members/maria", json={"role": "viewer"}).status_code == 200
    assert maria.get("/projects/vision").status_code == 200
    assert [m["user"] for m in maria.get("/projects/vision/members").json()["items"]] == ["boss", "maria"]
    assert boss.delete("/projects/vision/members/maria").status_code == 204
    assert maria.get("/projects/vision").status_code == 404
    assert boss.delete("/projects/vision/members/maria").status_code == 404
    refused = boss.delete("/projects/vision/members/boss")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")


def test_empty_project_can_be_deleted(server: RunningServer) -> None:
    server.project("vision")
    assert server.admin.delete("/projects/vision").status_code == 204
    assert server.admin.get("/projects/vision").status_code == 404


def test_every_change_is_in_the_audit_trail(server: RunningServer) -> None:
    admin = server.admin
    admin.post("/users", json={"name": "maria", "password": "long enough"})
    admin.post("/projects", json={"name": "vision"})
    admin.put("/projects/vision/members/maria", json={"role": "member"})
    admin.patch("/users/maria", json={"password": "even longer"})
    records = admin.get("/audit", params={"limit": 4}).json()["items"]
    assert [(record["actor"], record["action"], record["subject"]) for record in records] == [
        ("admin", "user.change", "maria"),
        ("admin", "member.put", "maria"),
        ("admin", "project.create", "vision"),
        ("admin", "user.create", "maria"),
    ]
    assert records[1]["project"] == "vision" and records[1]["before"] == {"role": None}
    assert records[1]["after"] == {"role": "member"} and records[1]["address"] == "127.0.0.1"
    assert "even longer" not in str(records)


def test_two_who_create_the_same_name(server: RunningServer) -> None:
    clients = [server.admin for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda client: client.post("/projects", json={"name": "vision"}).status_code, clients))
    assert sorted(answers) == [201] + [409] * 7
