"""The pages and what answers them: a planner for a table, or the page of a release."""

from __future__ import annotations

import asyncio
import io
import sys
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from cloakgp.app.outputs import OUTPUTS, REPORT
from cloakgp.app.settings.declarations import DECLARED
from cloakgp.app.spending import RunState, debug_traceback, error_message, what_is_left
from cloakgp.app.tables.numerals import as_number
from cloakgp.data.box import MOST_INPUTS
from cloakgp.drawing.axes import format_number
from cloakgp.errors import CommandError
from cloakgp.privacy.ledger import LedgerError
from cloakgp.release.meaning import percent, relation
from cloakgp.release.release import Release
from cloakgp.release.summary import NAME_OWNERS
from cloakgp.report.figures import attacker
from cloakgp.report.html import from_markdown, sections
from cloakgp.report.page import report_page
from cloakgp.web.form import (
    FIELDS,
    FormSubmission,
    Problem,
    TooLarge,
    input_settings,
    problem_of,
    read_form,
    read_submission,
    short,
    shown_ledger,
)
from cloakgp.web.pictures import ledger_picture, noise_picture, people_picture
from cloakgp.web.planner import SETTINGS, Cost, FinalPlan, Planner
from cloakgp.web.session import Guard, Session
from cloakgp.web.tasks import Busy, Step, Task, Worker

#: A form is small; more than this is not read.
MAX_FORM_BYTES = 200_000
#: How long an answer waits for a task to end before it says how far it is.
MAX_WAIT_SECONDS, POLL_SECONDS = 1.0, 0.02
#: The page of a release has a policy of its own inside; it may not be framed either.
REPORT_POLICY = {"Content-Security-Policy": "frame-ancestors 'none'"}
#: Settings that the page tells in words of their own.
ACCOUNT = ("ledger", "dataset")
EVERYTHING = "everything.zip"
MEDIA_TYPES = {
    ".cloakgp": "application/zip",
    ".csv": "text/csv; charset=utf-8",
    ".png": "image/png",
    ".md": "text/markdown; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}

Handler = Callable[[Request], Awaitable[Response]]


def release_app(release: Release, session: Session) -> Guard:
    """Return the server of one release: its page."""
    page = report_page(release)

    async def report(_: Request) -> Response:
        return HTMLResponse(page, headers=REPORT_POLICY)

    return _guarded([Route("/", report)], session)


def planner_app(planner: Planner, session: Session, worker: Worker) -> Guard:
    """Return the server of the planner."""
    pages = _templates()
    pages.filters["told"] = planner.unit.told
    handlers = PlannerPages(planner, worker, pages)
    static = StaticFiles(directory=str(files("cloakgp.web") / "static"))
    routes = [
        Route("/", handlers.page),
        Route("/report", handlers.report),
        Route("/files/{name}", handlers.file),
        Route("/task/{number:int}", handlers.task),
        Route("/report.css", handlers.style),
        Mount("/static", static),
    ]
    actions: dict[str, Handler] = {
        "/people": handlers.people,
        "/preview": handlers.preview,
        "/epsilon": handlers.required,
        "/compare": handlers.compare,
        "/plan": handlers.plan,
        "/release": handlers.release,
        "/again": handlers.again,
        "/task/{number:int}/cancel": handlers.cancel,
    }
    routes += [
        Route(path, _with_problems(each), methods=["POST"]) for path, each in actions.items()
    ]
    return _guarded(routes, session)


def _guarded(routes: list[Any], session: Session) -> Guard:
    """Return a server whose every answer has passed the guard, errors included."""
    return Guard(Starlette(routes=routes, exception_handlers={Exception: _unexpected}), session)


async def _unexpected(_: Request, error: Exception) -> Response:
    words = f"unexpected error: {type(error).__name__}"
    return _problem(words, status=500)


def _in_words(error: ValueError) -> str:
    return str(problem_of(error))


def _problem(message: str, field: str | None = None, status: int = 200) -> Response:
    """Answer with what is wrong; a form that is not complete yet is no error of the page."""
    return JSONResponse({"message": message, "field": field}, status)


def _templates() -> Environment:
    folder = str(files("cloakgp.web") / "pages")
    found = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"figure": format_number, "percent": percent, "short": short}
    return found


def _with_problems(handler: Handler) -> Handler:
    """Answer what the user can fix with a message and its field."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Busy as error:
            return _problem(str(error), status=409)
        except (CommandError, LedgerError) as error:
            problem = problem_of(error)
            return _problem(str(problem), problem.field, problem.status)

    return answer


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge(
                f"this form has more than {MAX_FORM_BYTES} bytes; choose fewer inputs, or say less"
            )
    return read_form(body)


@dataclass
class PlannerPages:
    """Answers the pages of the planner."""

    planner: Planner
    worker: Worker
    pages: Environment

    async def page(self, _: Request) -> Response:
        """Show the form, or what was published."""
        planner = self.planner
        if planner.release is not None:
            return HTMLResponse(self._render("done.html", **self._done()))
        try:
            names, problem = planner.names, ""
        except CommandError as error:
            names, problem = [], str(problem_of(error))
        return HTMLResponse(
            self._render(
                "planner.html",
                data=planner.data.name,
                names=names,
                problem=problem,
                values=planner.values,
                choices={n: DECLARED[n].reader.metavar.split("|") for n in ("task", "design")},
                most=MOST_INPUTS,
                ledger=shown_ledger(planner.base.get("ledger")),
                dataset=planner.base.get("dataset"),
                others={n: v for n, v in planner.base.items() if n not in (*FIELDS, *ACCOUNT)},
            )
        )

    async def style(self, _: Request) -> Response:
        """Return the style of the report, which the planner shares."""
        style = (files("cloakgp.report") / "style.css").read_text("utf-8")
        return PlainTextResponse(style, media_type="text/css")

    async def people(self, request: Request) -> Response:
        """Draw where people are."""
        form = await _form(request)
        if not form.get("inputs", "") or form.get("protect") == "rows":  # then they are private
            return JSONResponse({"html": ""})
        settings, decimal = input_settings(form, self.planner.base), form.get("decimal") or "."
        inputs = await asyncio.to_thread(self.planner.people, settings, decimal)
        picture = None
        if inputs is not None:
            picture = people_picture(inputs, settings.columns, self.planner.unit.many)
        return JSONResponse({"html": picture or ""})

    async def preview(self, request: Request) -> Response:
        """Say at once what a budget means, and begin a plan to look at."""
        submission = self._submission(await _form(request))
        cost = self.planner.cost(submission.settings)
        task = self.worker.start(lambda step: self._preview(submission, step))
        return self._started(task, self._render("cost.html", **_cost_values(cost)))

    async def required(self, request: Request) -> Response:
        """Begin the search for the epsilon of an accuracy."""
        form = await _form(request)
        submission, wanted = self._submission(form), as_number(form.get("wanted", ""))
        if wanted is None or not 0.0 < wanted < float("inf"):
            raise Problem("say how much noise you can accept: a number above 0", "wanted")

        def run(step: Step) -> dict[str, Any]:
            try:
                return {"epsilon": self.planner.required(submission, wanted, step)}
            except CommandError as error:
                raise Problem(str(problem_of(error)), "wanted") from None

        return self._started(self.worker.start(run))

    async def compare(self, request: Request) -> Response:
        """Begin a comparison of budgets and designs."""
        submission = self._submission(await _form(request))

        def run(step: Step) -> dict[str, Any]:
            budgets, designs = self.planner.compare(submission, step)
            tables = {"budgets": budgets.to_dict("records"), "designs": designs.to_dict("records")}
            return {"html": self._render("compare.html", **tables)}

        return self._started(self.worker.start(run))

    async def plan(self, request: Request) -> Response:
        """Begin the exact plan that may be released."""
        submission = self._submission(await _form(request))
        return self._started(self.worker.start(lambda step: self._plan(submission, step)))

    async def release(self, request: Request) -> Response:
        """Publish the plan that was shown, once: from here on nothing is cancelled."""
        form = await _form(request)
        # No other request is answered between the checks and the start: nothing waits here.
        if (task := self.worker.current) is not None and task.must_finish:
            raise Busy("A release is under way; nothing is spent twice.")
        submission = self._submission(form)
        try:
            run = self.planner.agree(form.get("plan", ""), submission, form.get("typed", ""))
        except Problem as error:
            return _problem(str(error), error.field, 422 if error.field else 409)
        return self._started(
            self.worker.start(lambda step: self._release(run, step), must_finish=True)
        )

    async def again(self, _: Request) -> Response:
        """Plan another release: the form again, for a folder of its own."""
        self.planner.again()
        return RedirectResponse("/", status_code=303)

    async def task(self, request: Request) -> Response:
        """Say how far a task is; waits a moment for its end."""
        task = self.worker.find(request.path_params["number"])
        if task is None:
            return JSONResponse({"state": "cancelled"})
        for _ in range(round(MAX_WAIT_SECONDS / POLL_SECONDS)):
            if task.state != "working":
                break
            await asyncio.sleep(POLL_SECONDS)
        answer: dict[str, Any] = {"state": task.state, "words": task.step_text}
        answer["seconds"] = round(task.seconds, 1)
        if task.state == "done":
            answer |= task.result
        elif task.state == "failed":
            answer |= self._failure(task)
        return JSONResponse(answer)

    async def cancel(self, request: Request) -> Response:
        """Cancel a plan."""
        task = self.worker.find(request.path_params["number"])
        return JSONResponse({"cancelled": task is not None and task.cancel()})

    async def report(self, _: Request) -> Response:
        """Show the page of what was published."""
        if self.planner.release is None:
            return PlainTextResponse("Nothing was published yet.\n", 404)
        page = (self.planner.out / REPORT).read_text("utf-8")
        return HTMLResponse(page, headers=REPORT_POLICY)

    async def file(self, request: Request) -> Response:
        """Hand out a file of the release, all of them, or the settings."""
        name = request.path_params["name"]
        final, released = self.planner.final, self.planner.release is not None
        if name == SETTINGS and final is not None:
            return _download(name, final.submission.toml.encode(), "application/toml")
        if name == EVERYTHING and released:
            return _download(name, self._everything(), "application/zip")
        path = self.planner.out / name
        if not released or name not in OUTPUTS or not path.is_file():
            return PlainTextResponse("There is no such file.\n", 404)
        return _download(name, path.read_bytes(), MEDIA_TYPES[path.suffix])

    def _submission(self, form: dict[str, str]) -> FormSubmission:
        if self.planner.release is not None:
            raise Problem(
                "This was released already. For another release, go back to the first page and "
                "choose “Plan another release”."
            )
        return read_submission(form, self.planner.base)

    def _preview(self, submission: FormSubmission, step: Step) -> dict[str, Any]:
        plan, name = self.planner.preview(submission, step), submission.settings.output[0]
        picture = noise_picture(plan, name)
        return {"html": self._render("preview.html", plan=plan, picture=picture, name=name)}

    def _plan(self, submission: FormSubmission, step: Step) -> dict[str, Any]:
        final = self.planner.finish(submission, step)
        html = self._render(
            "plan.html", **_plan_values(final, self.planner.cost(submission.settings))
        )
        return {"html": html, "plan": final.number}

    def _release(self, run: Callable[[Step], Release], step: Step) -> dict[str, Any]:
        run(step)
        return {}  # the page is asked for again, and shows what was published

    def _failure(self, task: Task) -> dict[str, Any]:
        """Say what may be said of an error; of a release, also what became of the budget."""
        error = task.error
        assert error is not None
        if isinstance(error, CommandError) and not task.must_finish:
            problem = problem_of(error)
            return {"message": str(problem), "field": problem.field}
        run = self.planner.run_state if task.must_finish else RunState(debug=self.planner.debug)
        print(debug_traceback(error, run), end="", file=sys.stderr)
        return {"message": error_message(error, run, _in_words), "field": None}

    def _done(self) -> dict[str, Any]:
        planner = self.planner
        assert planner.release is not None
        there = [name for name in OUTPUTS if (planner.out / name).is_file()]
        final = planner.final
        return {
            "release": planner.release,
            "folder": planner.out,
            "files": [*there, SETTINGS],
            "left": "" if final is None else what_is_left(final.submission.settings),
        }

    def _everything(self) -> bytes:
        """Return all files in one archive."""
        buffer, final = io.BytesIO(), self.planner.final
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (self.planner.out / name for name in OUTPUTS):
                if path.is_file():
                    archive.write(path, path.name)
            if final is not None:
                archive.writestr(SETTINGS, final.submission.toml)
        return buffer.getvalue()

    def _started(self, task: Task, html: str | None = None) -> Response:
        return JSONResponse({"task": task.number, "html": html})

    def _render(self, page: str, **values: Any) -> str:
        return self.pages.get_template(page).render(**values)


def _cost_values(cost: Cost) -> dict[str, Any]:
    """Return what the page says of a budget."""
    bar = None
    if cost.requested is not None and cost.left is not None:
        bar = ledger_picture(cost.requested, cost.left)
    return {"cost": cost, "attacker": attacker(cost.guess), "bar": bar}


def _plan_values(final: FinalPlan, cost: Cost) -> dict[str, Any]:
    """Return what the page says of the plan that may be released."""
    words, plan = sections(final.statement), final.plan
    titles = ("What was published", "What is protected", "What is not protected")
    return {
        "final": final,
        "plan": final.plan,
        "summary": final.plan.summary().replace(NAME_OWNERS, "choose “Who owns a row”."),
        "whose": None if plan.spec.rows is None else relation(plan.spec.rows),
        "name": final.submission.settings.output[0],
        "picture": noise_picture(final.plan, final.submission.settings.output[0]),
        "words": {title: from_markdown(words[title]) for title in titles if title in words},
        "cost": cost,
        "left": what_is_left(final.submission.settings),
    }


def _download(name: str, content: bytes, kind: str) -> Response:
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
