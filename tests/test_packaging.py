"""What is uploaded to an index: it is whole, it is described rightly, and it holds nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from datetime import date
from pathlib import Path

import pytest
import yaml

import cloakgp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Extras for those who work on the project; the others are for its users.
OF_DEVELOPERS = {"all", "bench", "docs", "experiments", "mutants", "releasing", "test"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution, and the wheel that is built from it alone."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


@pytest.mark.slow
def test_an_index_would_take_the_description(built):
    command = [sys.executable, "-m", "twine", "check", "--strict", *built]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_links_of_the_page_on_an_index_are_whole_addresses(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
        page = wheel.read(name).decode()
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]
    address = hooks["hooks"]["custom"]["address"]
    assert f"Project-URL: Source, {address}\n" in page
    readme, text = (ROOT / "README.md").read_text(), page.split("# cloakgp", 1)[1]
    targets = re.findall(r"\]\(([^)\s]+)\)", readme)
    for target in targets:
        kind = "raw" if target.endswith(".png") else "blob"
        assert f"]({address}/{kind}/main/{target})" in text
    assert len(re.findall(r"\]\(https://[^)\s]+\)", text)) == len(targets)


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built):
    what = ["--no-config", "--toplevel", "cloakgp", "--package", ROOT / "src" / "cloakgp"]
    command = [sys.executable, "-m", "check_wheel_contents", *what, built[1]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_holds_what_pages_proofs_and_types_need(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    needed = ("py.typed", "report/script.js", "web/static/web.css", "privacy/README.md")
    assert {f"cloakgp/{name}" for name in needed} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


#: Packages of the extras, by the names that are imported.
OF_EXTRAS = (
    *("cryptography", "dask", "distributed", "jinja2", "openpyxl", "pooch"),
    *("psycopg", "pyarrow"),
    *("starlette", "uvicorn"),
)


@pytest.mark.slow
def test_the_wheel_alone_runs_the_demo_and_needs_no_extra(built, tmp_path):
    site, empty = tmp_path / "site", tmp_path / "empty"
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(site)
    for name in OF_EXTRAS:
        (site / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name} here')")
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def run(*words):
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)

    where = run("-c", "import cloakgp; print(cloakgp.__file__)").stdout
    assert Path(where.strip()).is_relative_to(site)
    done = run("-m", "cloakgp", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (empty / "demo-output" / "report.html").is_file()


@pytest.mark.slow
def test_the_source_distribution_can_be_tested_and_cited(built):
    with tarfile.open(built[0]) as source:
        names = {name.split("/", 1)[-1] for name in source.getnames()}
    assert {"CITATION.cff", "CHANGELOG.md", "constraints.txt", "tests/test_packaging.py"} <= names


def test_everything_for_users_is_in_all():
    everything = re.fullmatch(r"cloakgp\[(.*)\]", *EXTRAS["all"])[1].split(",")
    assert set(everything) == set(EXTRAS) - OF_DEVELOPERS


def test_every_dependency_has_an_exact_version_in_the_constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    exact = {_name(line.split("==")[0]) for line in lines}
    wanted = [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]
    assert {_name(re.match(r"[\w.-]+", each)[0]) for each in wanted} - {"cloakgp"} <= exact


def _name(text):
    return re.sub(r"[-_.]+", "-", text).lower()


def test_what_to_cite_agrees_with_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["license"] == PROJECT["license"]
    assert cited["keywords"] == PROJECT["keywords"]
    assert cited["title"] == f"cloakgp: {PROJECT['description']}"
    assert [each["name"] for each in cited["authors"]] == [e["name"] for e in PROJECT["authors"]]
    assert cited["references"][0]["title"] in (ROOT / "README.md").read_text()
    assert cited["version"] == cloakgp.__version__


def test_the_newest_dated_entry_of_the_changelog_is_this_version():
    """One entry may stand above: what comes next, without a date."""
    text = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (\S+) \((\S+)\)$", text, re.M)
    assert len(versions) == len(re.findall(r"^## ", text, re.M))
    versions = versions[1:] if versions[0][1] == "unreleased" else versions
    days = [date.fromisoformat(day) for _, day in versions]
    assert days == sorted(days, reverse=True)
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert versions[0] == (cloakgp.__version__, str(cited["date-released"]))
