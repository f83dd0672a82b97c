"""``cloakgp demo``: everything in one folder of its own."""

from functools import partial
from pathlib import Path

from command_line import OUTPUTS, fails, run

from cloakgp.cli.commands import demo


def test_the_demo_leaves_everything_in_one_folder_and_can_run_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("make_heights", "make_diagnoses"):  # all of them are in test_packaging
        made = partial(getattr(demo, name), 60)
        monkeypatch.setattr(demo, name, lambda made=made, **options: made(random_state=0))
    with monkeypatch.context() as patch:  # the first run leaves out what it would throw away
        patch.setattr("cloakgp.app.publish.rehearse", lambda *_: None)
        patch.setattr(demo, "plan_picture", lambda *_: b"to be replaced")
        assert run("demo").exit_code == 0
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert Path("demo-output", "plan.png").read_bytes().startswith(b"\x89PNG")
    names = {path.name for path in Path("demo-output").iterdir()}
    assert names == OUTPUTS | {"heights.csv", "plan.png", "diagnoses.csv", "diagnosis"}
    diagnosis = Path("demo-output", "diagnosis")
    assert {path.name for path in diagnosis.iterdir()} == OUTPUTS
    *_, last = result.stdout.strip().splitlines()
    assert last.startswith(f"Open {Path('demo-output', 'report.html')} in a browser")
    assert run("verify", diagnosis / "release.cloakgp").exit_code == 0
    for part in ("differentially private with epsilon = 1", "Design", "The guarantee holds"):
        assert part in result.stdout
    assert len(result.stdout.splitlines()) < 70


def test_the_demo_does_not_touch_a_folder_that_is_not_its_own(tmp_path):
    (tmp_path / "release.cloakgp").write_text("precious")
    fails(run("demo", "--out", tmp_path), "not the folder of an earlier demo")
    assert (tmp_path / "release.cloakgp").read_text() == "precious"
