"""The server listens on this machine alone, and ends without cutting a release off."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlencode

import pytest
from web_cases import FORM

from cloakgp import Ledger, Release
from cloakgp.errors import CommandError
from cloakgp.web.server import listen, open_session

#: The command, with a release that takes a second and tells when it begins.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from cloakgp.__main__ import main
from cloakgp.app import outputs
from cloakgp.app.job import Job
draw = Job.release
def slow(*args):
    print("drawing", flush=True)
    time.sleep(1.0)
    return draw(*args)
Job.release = slow
outputs.release_picture = lambda release: b""
sys.argv = ["cloakgp", "web", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_an_address_that_others_can_reach_is_refused(host):
    with pytest.raises(CommandError, match="other machines"):
        listen(host, 0)


def test_others_are_let_in_only_on_purpose():
    with listen("0.0.0.0", 0, anywhere=True) as found:
        assert found.getsockname()[0] == "0.0.0.0"
    with listen("127.0.0.1", 0) as found:
        assert found.getsockname()[0] == "127.0.0.1"
        session = open_session(found, "127.0.0.1")
        assert session.link.startswith(f"http://127.0.0.1:{found.getsockname()[1]}/?key=")


def test_a_port_that_is_taken_is_an_error_in_one_line():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(CommandError, match="cannot be used"):
            listen("127.0.0.1", other.getsockname()[1])


class Browser:
    """Just enough of one: a cookie, and requests from the pages of the server."""

    def __init__(self, link):
        host, key = re.fullmatch(r"http://(.*?)(/.*)", link).groups()
        self.host = host
        answer = self.ask("GET", key, {})
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, method, path, headers, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        return answer

    def get(self, path):
        return json.loads(self.ask("GET", path, {"cookie": self.cookie}).content)

    def post(self, path, **form):
        headers = {
            "cookie": self.cookie,
            "origin": f"http://{self.host}",
            "content-type": "application/x-www-form-urlencoded",
        }
        return json.loads(self.ask("POST", path, headers, urlencode(FORM | form)).content)

    def wait(self, number):
        while (answer := self.get(f"/task/{number}"))["state"] == "working":
            pass
        return answer


@pytest.fixture
def running(data, tmp_path, book):
    words = [str(data), "--out", str(tmp_path / "out")]
    words += ["--ledger", str(book.path), "--dataset", "people"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_ctrl_c_during_a_release_leaves_ledger_and_folder_right(running, tmp_path, book):
    link = re.search(r"http://\S+", running.stdout.readline())[0]
    browser = Browser(link)
    plan = browser.wait(browser.post("/plan")["task"])
    assert "task" in browser.post("/release", plan=plan["plan"], typed="height")
    while running.stdout.readline() != "drawing\n":
        pass
    running.send_signal(signal.SIGINT)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)  # somebody who cannot wait
    out, errors = running.communicate(timeout=30)
    assert running.returncode == 0, errors
    assert "it is finished first" in out
    assert "WAS spent, and the release is complete" in " ".join(out.split())
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.verify().ok
    assert (tmp_path / "out" / "report.html").is_file()
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name[0] == "."] == []
    ledger = Ledger(book.path)
    assert ledger.spent("people") == pytest.approx(1.0, rel=1e-6)
    assert ledger.history("people")[-1].facts["release_id"] == release.release_id


@pytest.mark.slow
def test_ctrl_c_before_a_release_spends_nothing(running, tmp_path, book):
    link = re.search(r"http://\S+", running.stdout.readline())[0]
    browser = Browser(link)
    assert "task" in browser.post("/preview")
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    assert running.returncode == 0, errors
    assert "Nothing was released." in out
    assert book.spent("people") == 0.0
    assert not (tmp_path / "out").exists()
