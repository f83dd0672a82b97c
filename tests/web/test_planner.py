"""Plans read public columns; what was shown is released, once, after its column was typed."""

import errno

import pytest
from command_line import people
from postgres_server import ESCAPED
from web_cases import FORM, ORIGIN

from cloakgp import Ledger, Release
from cloakgp.app.job import Job
from cloakgp.app.settings import Settings, gather_settings
from cloakgp.app.tables.files import CsvTable, to_csv
from cloakgp.errors import CommandError
from cloakgp.web.form import Problem, read_submission
from cloakgp.web.planner import MAX_CACHED, RecentCache


def quiet(words):
    pass


def asked(planner, **changes):
    return read_submission(FORM | changes, planner.base)


@pytest.fixture
def opened(monkeypatch):
    """The columns whose cells were kept, of any table."""
    found, load = set(), CsvTable.load

    def watched(table, names, *most, **how):
        found.update(names)
        load(table, names, *most, **how)

    monkeypatch.setattr(CsvTable, "load", watched)
    return found


@pytest.mark.usefixtures("undrawn")
def test_nothing_private_is_read_before_the_name_is_typed(planner, opened):
    some = asked(planner)
    assert planner.names == ["age", "height", "weight"]
    planner.people(Settings(inputs=("age",)), ".")
    planner.cost(some.settings)
    planner.preview(some, quiet)
    planner.compare(some, quiet)
    planner.required(some, 60.0, quiet)
    final = planner.finish(some, quiet)
    with pytest.raises(Problem, match="letter by letter") as caught:
        planner.agree(final.number, some, "Height")
    assert caught.value.field == "typed"
    release = planner.agree(final.number, some, "height")
    assert opened == {"age"}
    release(quiet)
    assert opened == {"age", "height"}


@pytest.mark.usefixtures("undrawn")
def test_a_private_column_that_nobody_could_read_makes_no_difference_to_plans(planner, data):
    before = planner.preview(asked(planner), quiet).forecast_rmse
    rows = data.read_text().splitlines()
    data.write_text("\n".join([rows[0], *(r.split(",")[0] + ",SECRET,x" for r in rows[1:])]))
    some = asked(planner)
    final = planner.finish(some, quiet)
    assert planner.preview(some, quiet).forecast_rmse == before
    with pytest.raises(CommandError) as caught:
        planner.agree(final.number, some, "height")(quiet)
    assert "SECRET" not in str(caught.value)


@pytest.mark.usefixtures("undrawn")
def test_the_plan_that_was_shown_is_released_once(planner, book):
    some = asked(planner)
    final = planner.finish(some, quiet)
    assert planner.finish(some, quiet) is final  # another tab
    release = planner.agree(final.number, some, "height")
    with pytest.raises(Problem, match="already"):
        planner.agree(final.number, some, "height")
    published = release(quiet)
    assert published.private
    assert (published.epsilon, published.published_values) == (1.0, final.plan.published_values)
    assert book.spent("people") == pytest.approx(1.0, rel=1e-6)
    assert planner.run_state.released == planner.out / "release.cloakgp"
    assert Release.load(planner.out / "release.cloakgp").release_id == published.release_id
    for changes in ({}, {"epsilon": "0.5"}):
        with pytest.raises(Problem, match="already"):
            planner.agree(final.number, asked(planner, **changes), "height")
    with pytest.raises(CommandError, match="already has release"):
        planner.finish(asked(planner, epsilon="0.5"), quiet)
    assert (planner.out / "settings.toml").read_text() == some.toml
    first = planner.out
    planner.again()  # into a folder of its own, and nothing of the first one stands for it
    assert planner.out == first.with_name(f"{first.name}-2")
    with pytest.raises(Problem, match=r"not the last one|already"):
        planner.agree(final.number, some, "height")
    less = asked(planner, epsilon="0.5")
    second = planner.finish(less, quiet)
    planner.agree(second.number, less, "height")(quiet)
    assert 1.0 < book.spent("people") <= 1.5
    assert Release.load(planner.out / "release.cloakgp").release_id != published.release_id


def test_the_form_begins_with_the_delta_of_the_ledger(planner, book):
    cap = book.balances("people")[0].delta
    assert float(planner.values["delta"]) == cap
    planner.base["delta"] = 1e-9
    assert float(planner.values["delta"]) == 1e-9


def test_a_stale_plan_is_refused(planner, monkeypatch):
    monkeypatch.setattr(Job, "release", lambda *_: pytest.fail("private column opened"))
    some, other = asked(planner), asked(planner, epsilon="0.5")
    with pytest.raises(Problem, match="not the last one"):
        planner.agree("", some, "height")
    first = planner.finish(some, quiet)
    with pytest.raises(Problem, match="not the last one"):
        planner.agree(first.number, other, "height")  # a field was changed since
    second = planner.finish(other, quiet)
    assert second.number != first.number
    with pytest.raises(Problem, match="not the last one"):
        planner.agree(first.number, some, "height")  # another tab has planned since


def test_a_table_that_changed_is_planned_again(planner, data):
    some = asked(planner)
    first = planner.finish(some, quiet)
    data.write_text(data.read_text() + "99,150,50\n")
    second = planner.finish(some, quiet)
    assert second.number != first.number
    assert second.plan.facts.people == first.plan.facts.people + 1


@pytest.mark.usefixtures("undrawn")
def test_a_release_that_failed_before_the_spend_may_be_tried_again(planner, book, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    some = asked(planner)
    final = planner.finish(some, quiet)
    with monkeypatch.context() as patched:
        patched.setattr(Job, "release", full)
        with pytest.raises(OSError, match="No space"):
            planner.agree(final.number, some, "height")(quiet)
    assert book.spent("people") == 0.0
    assert not planner.out.exists()
    planner.agree(final.number, some, "height")(quiet)
    assert book.spent("people") > 0.9


@pytest.mark.usefixtures("undrawn")
def test_a_spend_that_was_wasted_is_not_repeated(planner, book, monkeypatch):
    save = Release.save

    def full(release, path):
        if release.private:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(release, path)

    some = asked(planner)
    final = planner.finish(some, quiet)
    monkeypatch.setattr(Release, "save", full)
    with pytest.raises(OSError, match="No space"):
        planner.agree(final.number, some, "height")(quiet)
    assert "wasted" in planner.run_state.budget_outcome()
    with pytest.raises(Problem, match="already"):
        planner.agree(final.number, some, "height")


def test_a_preview_is_the_plan_at_that_epsilon_and_no_release_takes_it(planner, data):
    planner.preview(asked(planner), quiet)
    plan = planner.preview(asked(planner, epsilon="2"), quiet)
    exact = planner.finish(asked(planner, epsilon="2"), quiet).plan
    assert plan.epsilon == 2.0
    assert plan.forecast_rmse == pytest.approx(exact.forecast_rmse, rel=1e-2)
    with pytest.raises(ValueError, match="not made by an estimator"):
        plan.check_same(exact.table, exact.settings)
    assert planner.preview(asked(planner, epsilon="2"), quiet) is plan


def test_the_epsilon_for_an_accuracy_keeps_it_in_the_plan_that_is_released(planner):
    wanted = 25.0
    epsilon = planner.required(asked(planner), wanted, quiet)
    plan = planner.finish(asked(planner, epsilon=repr(epsilon)), quiet).plan
    assert 0.95 * wanted < plan.largest_bounds.max() <= wanted


def test_the_cost_is_that_of_the_ledger(planner, book):
    cost = planner.cost(asked(planner).settings)
    assert cost.guess == pytest.approx(0.554, abs=0.001)
    assert (cost.balance.epsilon, cost.allowed) == (3.0, True)
    assert cost.requested == pytest.approx(1.0, rel=1e-6)
    dear = asked(planner, epsilon="3.5")
    assert not planner.cost(dear.settings).allowed
    with pytest.raises(CommandError, match="does not allow"):
        planner.finish(dear, quiet)
    planner.base.clear()
    assert planner.cost(asked(planner).settings).balance is None


def test_a_folder_of_parquet_files_is_planned_in_blocks(planner, tmp_path):
    planner.data = tmp_path / "parts"
    planner.data.mkdir()
    for number in range(2):
        people().to_parquet(planner.data / f"{number}.parquet")
    planner.check()
    assert planner.names == ["age", "height", "weight"]
    assert planner.people(("age",), ".") is None
    some = asked(planner, kernel="")
    plan = planner.preview(some, quiet)
    assert plan.facts.people == 80
    assert planner.finish(some, quiet).plan.facts.people == 80


WHOLE_ROWS = {
    "protect": "rows",
    "neighbours": "replace",
    "people": "",
    "max_contributions": "",
    "kernel": "",
    "box-kind:age": "number",
    "box-low:age": "0",
    "box-high:age": "90",
    "design": "auto",
}


@pytest.mark.usefixtures("undrawn")
def test_whole_rows_are_planned_with_the_table_closed_and_released_once(
    planner, desk, opened, book, monkeypatch
):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 24)
    form = FORM | WHOLE_ROWS
    assert desk.client.post("/people", data=form, headers=ORIGIN).json() == {"html": ""}
    preview = desk.ask("/preview", form)
    assert "between two rows of one person" in preview.first
    assert "typical noise" in preview.html
    missing = desk.ask("/preview", form, neighbours="add-remove")
    assert "people is missing" in missing.message
    assert desk.ask("/preview", form, **{"box-high:age": "-1"}).field == "box"
    plan = desk.ask("/plan", form)
    assert planner.final.plan.spec.people == 40  # public, and counted without reading a cell
    said = " ".join(plan.html.split())
    assert "everybody in the table, for replacing one person&#39;s row by any other" in said
    assert opened == set()
    assert desk.ask("/release", form, plan=plan.plan, typed="height").state == "done"
    assert opened == {"age", "height"}
    assert book.spent("people") == pytest.approx(1.0, rel=1e-4)
    release = Release.load(planner.out / "release.cloakgp")
    assert release.spec.rows.box.ranges == ((0.0, 90.0),)
    assert "private rows of <strong>age</strong>" in desk.client.get("/").text
    again = gather_settings({}, planner.out / "settings.toml")
    assert (again.protect, again.box) == ("rows", {"age": (0.0, 90.0)})


@pytest.mark.usefixtures("undrawn")
def test_plans_of_outputs_and_of_rows_are_told_apart(planner, monkeypatch):
    """The same columns were read for the one, and are private for the other."""
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 24)
    outputs, rows = asked(planner, design="auto", kernel=""), asked(planner, **WHOLE_ROWS)
    assert planner.preview(outputs, quiet).spec.rows is None
    for _ in range(2):
        assert planner.preview(rows, quiet).spec.rows is not None
        assert planner._job(rows.settings).table.inputs is None
        assert planner._job(outputs.settings).table.inputs is not None


def test_a_shelf_forgets_the_oldest():
    shelf, made = RecentCache(), []
    for key in (*range(MAX_CACHED + 1), MAX_CACHED, 0):
        shelf.get(key, lambda key=key: made.append(key))
    assert made == [*range(MAX_CACHED + 1), 0]


def test_the_budget_may_be_on_a_server(desk, planner, postgres):
    address = postgres.address(schema="pages")
    ledger = Ledger(address).open("people", 3.0, 1e-5, create=True)
    planner.base["ledger"] = address
    assert planner.cost(asked(planner).settings).balance.epsilon == 3.0
    page = desk.client.get("/").text
    assert "in postgresql://admin@127.0.0.1" in page
    assert desk.ask("/plan").state == "done"
    assert desk.ask("/release", plan=planner.final.number, typed="height").state == "done"
    assert ledger.spent("people") == pytest.approx(1.0, rel=1e-6)
    for text in (page, desk.client.get("/").text, desk.client.get("/files/settings.toml").text):
        assert ESCAPED not in text


def test_a_column_that_seems_to_name_owners_is_asked_about_by_its_field(planner, desk):
    frame = people()
    planner.data.write_bytes(to_csv(frame.assign(patient_id=[n // 4 for n in range(len(frame))])))
    answer = desk.ask("/plan")
    assert answer.field == "groups"
    assert "patient_id repeats: 40 rows, 10 different" in answer.message
    assert "nobody owns several rows" in answer.message
    page = " ".join(desk.client.get("/").text.split())
    assert '<option value="none">nobody owns several rows</option>' in page
    told = " ".join(desk.ask("/plan", groups="none").html.split())
    assert "Each of the 40 rows is taken to be another person&#39;s" in told
    assert "Who owns a row" in told
    assert "groups=" not in told
    assert "the people behind 40 rows, each taken to be another person&#39;s" in told
    owned = desk.ask("/plan", groups="patient_id").html
    assert "of 10 people" in owned
    assert "taken to be another person" not in owned
