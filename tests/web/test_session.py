"""The server answers one browser, on its own address, to its own pages."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from web_cases import HOST, ORIGIN

from cloakgp.web.session import Guard, Session, is_loopback


async def inner(scope, receive, send):
    await PlainTextResponse("inside")(scope, receive, send)


@pytest.fixture
def session():
    return Session("127.0.0.1", 8000)


def visitor(session, host=HOST):
    return TestClient(Guard(inner, session), base_url=f"http://{host}", follow_redirects=False)


@pytest.fixture
def guest(session):
    """A browser that has traded the key."""
    client = visitor(session)
    assert client.get("/", params={"key": session.key}).status_code == 303
    return client


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8000",
        "127.0.0.1.evil.example:8000",
        "localhost.evil.example:8000",
        "127.0.0.1:8001",
        "127.0.0.1",
        "192.168.0.7:8000",
        "127.0.0.1:8000@evil.example",
        "",
        "127.0.0.1:x",
    ],
)
def test_a_foreign_host_is_refused_even_with_the_cookie(guest, host):
    """Somebody else's name may be pointed at this machine."""
    assert guest.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", [HOST, "localhost:8000", "[::1]:8000"])
def test_the_machine_is_known_by_its_own_names(guest, host):
    assert guest.get("/", headers={"host": host, "cookie": cookie(guest)}).text == "inside"


def cookie(client):
    ((name, value),) = client.cookies.items()
    return f"{name}={value}"


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1:8001"],
)
def test_a_foreign_or_missing_origin_changes_nothing(guest, origin):
    headers = {} if origin is None else {"origin": origin}
    assert guest.post("/release", headers=headers).status_code == 403
    assert guest.put("/release", headers=headers).status_code == 403
    assert guest.post("/release", headers=ORIGIN).text == "inside"


def test_without_the_key_nothing_is_answered(session):
    client = visitor(session)
    for path in ("/", "/?key=", "/?key=wrong", "/static/web.js", f"/other?key={session.key}"):
        assert client.get(path).status_code == 403
    assert client.post("/", params={"key": session.key}, headers=ORIGIN).status_code == 403
    client.cookies.set(session.cookie, "wrong")
    assert client.get("/").status_code == 403


def test_the_key_works_once_and_leaves_the_address(session):
    client, link = visitor(session), session.link
    answer = client.get(link)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert client.get("/").text == "inside"
    assert visitor(session).get(link).status_code == 403
    assert client.get(link).headers["location"] == "/"  # the browser that has the cookie


def test_the_cookie_is_kept_from_scripts_and_other_sites(session):
    given = visitor(session).get(session.link).headers["set-cookie"]
    assert given.startswith(f"cloakgp-8000={session.token}")
    assert "HttpOnly" in given
    assert "SameSite=strict" in given
    assert session.key is None
    assert session.token not in Session("127.0.0.1", 8000).link


@pytest.mark.parametrize("path", ["/", "/?key=x"])
def test_no_page_may_be_framed_or_run_scripts_of_others(guest, session, path):
    for answer in (
        guest.get(path),
        visitor(session).get(path),
        guest.get("/", headers={"host": ""}),
    ):
        policy = answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"


def test_loopback_is_this_machine_alone():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "evil.example", ""))


def test_a_server_on_all_addresses_is_known_by_any_of_them_but_by_no_name():
    session = Session("0.0.0.0", 8000)
    assert session.is_named_by("192.168.0.7:8000")
    assert not session.is_named_by("evil.example:8000")
    assert not Session("10.0.0.1", 8000).is_named_by("192.168.0.7:8000")
