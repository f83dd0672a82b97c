"""What was shown is what is released, and each design is found once."""

from command_line import SPEND, fails, people, run

from cloakgp.app.job import Job
from cloakgp.app.tables.files import to_csv


def test_data_that_changes_after_the_plan_is_not_released(data, tmp_path, monkeypatch):
    draw = Job.plan

    def change(job):
        plan = draw(job)
        data.write_bytes(to_csv(people().iloc[1:]))
        return plan

    monkeypatch.setattr(Job, "plan", change)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "changed", "no privacy budget")
