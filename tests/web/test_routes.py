"""What the pages ask is answered, from the form to the downloads."""

import io
import threading
import time
import zipfile
from types import SimpleNamespace

import pytest
from command_line import OUTPUTS, SECRET
from starlette.testclient import TestClient
from web_cases import FORM, HOST, ORIGIN

from cloakgp import Release
from cloakgp.app.job import Job
from cloakgp.web.routes import release_app
from cloakgp.web.session import Session


def released(desk, **more):
    """Plan and release, as somebody does who has read everything."""
    plan = desk.ask("/plan")
    return desk.ask("/release", plan=plan.plan, typed="height", **more)


def test_the_whole_way_from_form_to_downloads(desk, book):
    page = desk.client.get("/")
    assert "Plan a release of people.csv" in page.text
    assert "<svg" in desk.client.post("/people", data=FORM, headers=ORIGIN).json()["html"]
    preview = desk.ask("/preview")
    assert "55.4 %" in preview.first
    assert "typical noise" in preview.html
    assert "bayes" in desk.ask("/compare").html
    assert desk.ask("/epsilon", wanted="25").epsilon > 0.1
    plan = desk.ask("/plan")
    assert "What is not protected" in plan.html
    assert "cannot be taken back" in plan.html
    assert desk.client.get("/report").status_code == 404
    assert book.spent("people") == 0.0
    assert released(desk).state == "done"
    assert book.spent("people") == pytest.approx(1.0, rel=1e-6)
    page = desk.client.get("/").text
    assert "Published" in page
    release = Release.load(desk.planner.out / "release.cloakgp")
    assert release.release_id in page
    report = desk.client.get("/report")
    assert report.text == (desk.planner.out / "report.html").read_text()
    assert report.headers["content-security-policy"] == "frame-ancestors 'none'"
    for name in OUTPUTS:
        answer = desk.client.get(f"/files/{name}")
        assert answer.content == (desk.planner.out / name).read_bytes()
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    archive = zipfile.ZipFile(io.BytesIO(desk.client.get("/files/everything.zip").content))
    assert {*archive.namelist()} == {*OUTPUTS, "settings.toml"}
    assert 'kernel = "900*RBF(20)"' in archive.read("settings.toml").decode()


def test_pages_call_those_who_are_protected_by_their_word_and_pass_warnings_on(desk):
    preview = desk.ask("/preview", unit="home", mechanism="gaussian", delta="0.01")
    assert "two values of one home" in preview.first
    assert "WARNING: delta = 0.01 is not far below one over" in preview.html
    plan = desk.ask("/plan", unit="home", delta="0.01").html
    assert "the homes behind" in plan
    assert "these homes have spent" in plan or "ledger" in plan
    assert 'class="hint failed">WARNING' in plan


@pytest.mark.usefixtures("undrawn")
def test_two_tabs_cannot_spend_twice(desk, book):
    plan = desk.ask("/plan")
    asked = FORM | {"plan": plan.plan, "typed": "height"}
    answers = [desk.client.post("/release", data=asked, headers=ORIGIN) for _ in range(2)]
    desk.worker.close()
    answers.append(desk.client.post("/release", data=asked, headers=ORIGIN))
    assert [answer.status_code for answer in answers[:2]] == [200, 409]
    assert "task" not in answers[2].json()
    assert book.spent("people") == pytest.approx(1.0, rel=1e-6)
    assert len(book.history("people")) == 2  # opened, spent


def test_a_stale_plan_and_a_wrong_name_are_refused(desk, monkeypatch):
    monkeypatch.setattr(Job, "release", lambda *_: pytest.fail("private column opened"))
    plan = desk.ask("/plan")
    for status, changes in (
        (409, {"plan": "", "typed": "height"}),
        (409, {"plan": "0" * 16, "typed": "height"}),
        (409, {"plan": plan.plan, "typed": "height", "epsilon": "2"}),
        (409, {"plan": plan.plan, "typed": "height", "low": "41"}),
        (422, {"plan": plan.plan, "typed": ""}),
        (422, {"plan": plan.plan, "typed": "weight"}),
    ):
        answer = desk.ask("/release", **changes)
        assert answer.status == status
        assert not hasattr(answer, "state")
    assert not desk.planner.out.exists()


def test_pages_are_answered_while_a_plan_is_made_and_it_can_be_cancelled(desk, monkeypatch):
    begun = threading.Event()

    def slow(*_):
        begun.set()
        while True:
            time.sleep(0.001)

    monkeypatch.setattr(Job, "plan", slow)
    number = desk.client.post("/plan", data=FORM, headers=ORIGIN).json()["task"]
    assert begun.wait(5)
    start = time.monotonic()
    assert desk.client.get("/").status_code == 200
    assert time.monotonic() - start < 1.0
    answer = desk.client.get(f"/task/{number}").json()
    assert (answer["state"], answer["words"]) == ("working", "Finding the best sketch, exactly")
    assert desk.client.post(f"/task/{number}/cancel", headers=ORIGIN).json() == {"cancelled": True}
    assert desk.client.get(f"/task/{number}").json()["state"] == "cancelled"
    assert desk.client.get("/task/99").json() == {"state": "cancelled"}
    assert desk.planner.final is None


def test_errors_of_a_release_say_what_became_of_the_budget_and_show_no_value(desk, data):
    rows = data.read_text().splitlines()
    data.write_text("\n".join([rows[0], *(r.split(",")[0] + f",{SECRET},9" for r in rows[1:])]))
    answer = released(desk)
    assert answer.state == "failed"
    assert "no privacy budget was spent" in answer.message
    assert SECRET not in answer.message
    assert not desk.planner.out.exists()


def test_an_error_that_nobody_foresaw_is_named_and_not_quoted(desk, monkeypatch):
    def broken(*_):
        raise RuntimeError(f"overflow in {SECRET}")

    monkeypatch.setattr(Job, "release", broken)
    answer = released(desk)
    assert "RuntimeError" in answer.message
    assert SECRET not in str(vars(answer))


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"low": "300"}, "bounds"), ({"inputs": "agee"}, None), ({"at": "x"}, "at")],
)
def test_what_can_be_fixed_is_said_with_its_field(desk, changes, field):
    answer = desk.ask("/preview", **changes)
    assert (answer.status, answer.field) == (200, field)
    assert answer.message


def test_an_accuracy_that_cannot_be_had_is_said_beside_the_wish(desk):
    for wanted in ("", "-1", "much", "inf"):
        assert desk.ask("/epsilon", wanted=wanted).field == "wanted"
    answer = desk.ask("/epsilon", wanted="1e-9")
    assert (answer.state, answer.field) == ("failed", "wanted")


def test_files_of_others_are_not_handed_out(desk, data):
    for name in ("people.csv", "..%2Fpeople.csv", "release.cloakgp", "settings.toml"):
        assert desk.client.get(f"/files/{name}").status_code == 404


def test_a_form_that_is_far_too_large_is_not_read(desk):
    answer = desk.ask("/preview", at="x" * 300_000)
    assert (answer.status, answer.message.split(";")[0]) == (
        413,
        "this form has more than 200000 bytes",
    )


def test_a_form_of_thousands_of_fields_is_too_large_and_no_error_of_the_server(desk):
    for path in ("/people", "/preview", "/plan", "/release"):
        answer = desk.ask(path, **{f"f{i}": "x" for i in range(6000)})
        assert answer.status == 413
        assert "this form has 6010 fields, more than 5000; choose fewer inputs" in answer.message


def test_names_of_columns_are_escaped(desk, data):
    nasty = "<script>alert(1)</script>"
    data.write_text(data.read_text().replace("weight", nasty, 1).replace("age", "age & <b>", 1))
    page = desk.client.get("/").text
    assert nasty not in page
    assert "&lt;script&gt;alert(1)" in page
    form = FORM | {"inputs": "age & <b>", "output": nasty}
    for path in ("/people", "/preview", "/plan", "/compare"):
        answer = desk.ask(path, form)
        html = f"{getattr(answer, 'first', '')}{answer.html}"
        assert html
        assert "<b>" not in html
        assert nasty not in html


def test_a_first_line_of_data_is_not_shown(desk, data):
    data.write_text(data.read_text().split("\n", 1)[1].replace("100.0", SECRET, 1))
    page = desk.client.get("/").text
    assert "cannot be used as it is" in page
    assert SECRET not in page


def test_no_page_of_ours_has_script_or_style_inside(desk):
    page = desk.client.get("/").text
    assert "style=" not in page
    assert "<style" not in page
    assert " on" + "click" not in page
    assert page.count("<script") == page.count('<script src="/static/') == 1
    for path in ("/static/web.js", "/static/web.css", "/report.css"):
        answer = desk.client.get(path)
        assert answer.status_code == 200
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")


def test_an_unexpected_error_of_a_page_has_the_headers_too(desk, monkeypatch):
    def broken(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(type(desk.planner), "cost", broken)
    client = TestClient(desk.client.app, base_url=f"http://{HOST}", raise_server_exceptions=False)
    client.cookies = desk.client.cookies
    answer = client.post("/preview", data=FORM, headers=ORIGIN)
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert SECRET not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.fixture
def explored(desk):
    """The page of a release, served."""
    released(desk)
    release = Release.load(desk.planner.out / "release.cloakgp")
    session = Session("127.0.0.1", 8000)
    client = TestClient(release_app(release, session), base_url=f"http://{HOST}")
    return SimpleNamespace(client=client, session=session, release=release)


@pytest.mark.usefixtures("undrawn")
def test_a_release_is_explored_on_its_page(explored):
    assert explored.client.get("/").status_code == 403
    page = explored.client.get("/", params={"key": explored.session.key})
    assert explored.release.release_id in page.text
    assert page.headers["x-frame-options"] == "DENY"
    assert explored.client.post("/", headers=ORIGIN).status_code == 405


def test_another_release_needs_no_restart(desk):
    assert released(desk).state == "done"
    page = desk.client.get("/").text
    assert "Plan another release" in page
    assert "is spent, at delta" in page  # what the ledger has left
    again = desk.client.post("/again", headers=ORIGIN, follow_redirects=False)
    assert (again.status_code, again.headers["location"]) == (303, "/")
    assert 'id="form"' in desk.client.get("/").text
    assert desk.planner.release is None


def test_a_form_that_lacks_something_is_told_so_in_words_of_the_page(desk):
    for changes, field, words in (
        ({"inputs": ""}, "inputs", "tick the public inputs"),
        ({"output": ""}, "output", "choose the private column"),
        ({"low": "", "high": ""}, "bounds", "the lowest and the highest value"),
        ({"low": "", "high": "5"}, "bounds", "the lowest and the highest value"),
        ({"task": "classification"}, "classes", "every possible label"),
        ({"task": "counts"}, "cap", "up to which count"),
    ):
        answer = desk.ask("/preview", **changes)
        assert answer.field == field
        assert words in answer.message
        assert "--" not in answer.message
