"""What NIST SP 800-226 asks of a guarantee, answered for one release: parameters, unit, hazards.

The answers follow from the release and from what ``verify`` found; what only the custodian knows is
named as such.  ``docs/nist-800-226.md`` has the same for cloakgp as a whole, with proofs and tests.
"""

from __future__ import annotations

from cloakgp.release.meaning import relation
from cloakgp.release.release import Release
from cloakgp.release.verify import VerificationReport
from cloakgp.report.html import Html, element

#: What the answers call the kinds of noise.
MECHANISMS = {"laplace": "discrete Laplace noise", "gaussian": "discrete Gaussian noise"}


def evaluation(release: Release, report: VerificationReport) -> Html:
    """Return the questions with their answers, as a table that unfolds."""
    rows = [
        element("tr", element("th", question, scope="row"), element("td", answer))
        for question, answer in answers(release, report)
    ]
    table = element("table", element("tbody", *rows), class_="answers")
    return element(
        "details",
        element("summary", "What NIST SP 800-226 asks, answered"),
        element("div", table, class_="scroll"),
    )


def answers(release: Release, report: VerificationReport) -> list[tuple[str, str]]:
    """Return questions and answers, from the parameters down to the data."""
    spec = release.spec
    passed = sum(check.passed for check in report.checks)
    delta = f" and delta = {release.delta:g}" if release.delta > 0.0 else ", without any delta"
    total = f"epsilon = {release.total_epsilon:.4g}{delta}: the total of everything that it cost"
    if release.chosen:
        total += f", the choice of {release.chosen} included"
    unit = "one person, with all of their rows" if spec.groups is not None else "one row"
    if spec.groups is None:
        unit += ", taken to be another person's; owners of rows were not named"
    if spec.rows is not None:
        unit = f"everything about one person, inputs included: {relation(spec.rows)}"
    if not release.private:
        total = "none: this is a trial and carries no guarantee"
    bounds = "public, and stated beforehand"
    if release.bounds_choice is not None:
        bounds = "chosen privately, within the total"
    learnt = "fixed beforehand" if spec.family is None else "learnt from what was published"
    if release.selection is not None:
        learnt = "chosen privately, within the total"
    return [
        ("Parameters", total),
        ("Unit of privacy", spec.privacy_unit.told(unit)),
        ("Who is trusted", "the custodian who ran the software; nobody who reads the release"),
        ("Mechanism", f"{MECHANISMS[spec.mechanism]} on {release.published_values} sums"),
        ("Bounds, classes, caps" if spec.rows is None else "Box, bounds, classes, caps", bounds),
        ("Hyperparameters", learnt),
        (
            "Other releases",
            "not known here: costs add up, in the custodian's ledger",
        ),
        ("Floating-point and seeds", "sums and noise are integers, drawn by OpenDP without a seed"),
        ("Checked again", f"{passed} of {len(report.checks)} checks passed, from the file alone"),
        ("Who vouches for it", str(report.signature)),
        ("Collection, access, retention", "for the custodian to say; the release cannot know"),
    ]
