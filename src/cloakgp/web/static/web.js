"use strict";
// The planner: sends the form, shows what the server draws, and lets go of what is out of date.
(() => {
  const get = (id) => document.getElementById(id);
  const form = get("form");
  const touched = new Set();
  // The number of the latest question: answers to earlier ones are dropped.
  let latest = 0;
  let running = null;
  let plan = null;

  // --- talking to the server ------------------------------------------------------------------

  async function post(path, more = {}) {
    const body = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries(more)) body.set(name, value);
    const answer = await fetch(path, { method: "POST", body });
    const told = await answer.json().catch(() => ({ message: "The server did not answer." }));
    return { ok: answer.ok && !told.message, ...told };
  }

  function say(words, working = false) {
    get("status").textContent = words;
    get("status").classList.toggle("working", working);
    get("cancel").hidden = !working;
  }

  async function follow(number, mine, tell) {
    running = number;
    for (;;) {
      const answer = await (await fetch(`/task/${number}`)).json();
      if (mine !== latest) return null;
      if (answer.state !== "working") {
        running = null;
        return answer;
      }
      tell(`${answer.words} … ${Math.round(answer.seconds)} s`);
    }
  }

  // One question at a time: `path` is asked, and `show` gets the answer if nobody asked since.
  async function ask(path, show, { more = {}, quiet = false, first = null, words } = {}) {
    const mine = ++latest;
    if (words) say(words, true);
    try {
      const begun = await post(path, more);
      if (mine !== latest) return;
      clear();
      if (!begun.ok) return fail(begun, quiet);
      if (first) first(begun);
      const answer = await follow(begun.task, mine, (told) => say(told, true));
      if (answer === null) return;
      if (answer.state === "failed") return fail(answer, false);
      if (answer.state === "cancelled") return say("Cancelled.");
      say("");
      show(answer);
    } catch {
      if (mine === latest) fail({ message: "The server does not answer; is it still running?" }, false);
    }
  }

  // --- errors, beside their field -----------------------------------------------------------------

  function clear() {
    for (const each of document.querySelectorAll(".error:not(#stale)")) each.hidden = true;
    for (const each of document.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  }

  // Nothing can be planned before the form is complete.
  function ready(complete) {
    for (const id of ["find", "compare", "make"]) get(id).disabled = !complete;
  }

  function fail({ message, field }, quiet) {
    if (quiet) ready(false);
    if (quiet && !touched.has(field)) {
      say(`To see a plan: ${message}`);
      return;
    }
    say("");
    const box = document.querySelector(`[data-field="${CSS.escape(field ?? "")}"]`);
    const place = (box && box.querySelector(".error")) || get("error-general");
    place.textContent = message;
    place.hidden = false;
    if (!box) return;
    for (const each of box.querySelectorAll("input, select")) each.setAttribute("aria-invalid", "true");
    const outer = box.closest("details");
    if (outer) outer.open = true;
    if (!quiet) box.querySelector("input, select").focus();
  }

  // --- what is seen while settings change ---------------------------------------------------------

  function refresh() {
    ask(
      "/preview",
      (answer) => {
        get("preview").innerHTML = answer.html;
        get("preview").classList.remove("old");
      },
      {
        quiet: true,
        first: (begun) => {
          ready(true);
          get("cost").innerHTML = begun.html;
          get("cost").classList.remove("old");
        },
      },
    );
  }

  function task() {
    return form.elements.task.value;
  }

  function fit() {
    for (const each of form.querySelectorAll("[data-only]")) each.hidden = each.dataset.only !== task();
    const chosen = form.elements.protect.value;
    for (const each of document.querySelectorAll("[data-protect]")) each.hidden = each.dataset.protect !== chosen;
  }

  // --- where private inputs may lie: a row of fields for each input that is ticked ------------------

  const rows = new Map();
  function boxRow(name, told) {
    const row = get("box-row").content.firstElementChild.cloneNode(true);
    for (const each of row.querySelectorAll("[data-part]")) {
      const part = each.dataset.part;
      each.name = each.id = `box-${part}:${name}`;
      if (told) each.value = told[part];
      const label = each.parentElement.querySelector("label");
      label.htmlFor = each.id;
      if (part === "kind") label.textContent = `${name} is`;
      else each.setAttribute("aria-label", `${label.textContent}: ${name}`);
    }
    return row;
  }

  function shape(row) {
    const kind = row.querySelector("[data-part=kind]").value;
    for (const each of row.querySelectorAll("[data-kind]")) each.hidden = !each.dataset.kind.includes(kind);
    for (const each of row.querySelectorAll("[data-part=low], [data-part=high]")) {
      each.type = kind === "date" ? "date" : "text";
      each.inputMode = kind === "number" ? "decimal" : "text";
    }
  }

  function boxes() {
    if (!rows.size) for (const told of JSON.parse(get("box").dataset.given)) rows.set(told.name, boxRow(told.name, told));
    const ticked = [...form.querySelectorAll("input[name=inputs]:checked")].map((each) => each.value);
    for (const name of ticked) if (!rows.has(name)) rows.set(name, boxRow(name));
    get("box").replaceChildren(...ticked.map((name) => rows.get(name)));
    for (const name of ticked) shape(rows.get(name));
  }

  // What is shown, and what is still being answered, belongs to other settings from now on.
  function outdate() {
    latest++;
    get("cost").classList.add("old");
    get("preview").classList.add("old");
    if (plan === null) return;
    plan = null;
    get("plan").classList.add("stale");
    get("stale").hidden = false;
    get("release").disabled = true;
  }

  let timer = null;
  function changed(event) {
    const name = event.target.name || event.target.id;
    if (name === "wanted") return;
    if (event.target.id === "slider") get("epsilon").value = Number((10 ** slider.value).toPrecision(2));
    if (name === "epsilon") place();
    if (name) touched.add({ low: "bounds", high: "bounds" }[name] || name.replace(/^box-.*/s, "box"));
    if (name === "high") touched.add("bounds");
    if (name === "low" && !get("high").value) touched.delete("bounds");
    if (name === "task" || name === "protect") fit();
    if (name.startsWith("box-")) {
      const row = event.target.closest(".box-row");
      shape(row);
      const empty = [...row.querySelectorAll("div:not([hidden]) > input")].some((each) => !each.value);
      if (empty) touched.delete("box"); // it is not complete yet
    }
    outdate();
    if (name === "inputs") get("at").value = "";
    if (name === "inputs" || name === "protect") {
      boxes();
      people();
    }
    if (name === "at") mark();
    clearTimeout(timer);
    timer = setTimeout(refresh, event.target.id === "slider" ? 60 : 250);
  }

  const slider = get("slider");
  function place() {
    const number = Number(get("epsilon").value);
    if (number > 0) slider.value = Math.log10(number);
  }

  // --- points that matter, on the picture -------------------------------------------------------------

  let drawn = 0;
  async function people() {
    const mine = ++drawn;
    const answer = await post("/people");
    if (mine !== drawn) return;
    get("people").innerHTML = answer.ok ? answer.html : "";
    mark();
  }

  function picture() {
    const svg = get("people").querySelector("svg[data-choose]");
    if (!svg) return null;
    const [left, side, top, floor, x0, x1, y0, y1] = svg.dataset.frame.split(" ").map(Number);
    const whole = svg.dataset.whole.split(" ").map((each) => each === "1");
    return { svg, left, side, top, floor, x0, x1, y0, y1, whole, names: JSON.parse(svg.dataset.choose) };
  }

  function inside(seen, event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(seen.svg.getScreenCTM().inverse());
    return [Math.min(Math.max(x, seen.left), seen.side), Math.min(Math.max(y, seen.top), seen.floor)];
  }

  function box(seen, x, y, width, height) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x, y, width, height })) rect.setAttribute(name, value);
    seen.svg.querySelector(".chosen").replaceChildren(rect);
  }

  const across = (seen, x) => seen.left + ((x - seen.x0) / (seen.x1 - seen.x0)) * (seen.side - seen.left);
  const down = (seen, y) => seen.top + ((seen.y1 - y) / (seen.y1 - seen.y0)) * (seen.floor - seen.top);

  // Draws the points that the field names.
  function mark() {
    const seen = picture();
    if (!seen) return;
    seen.svg.querySelector(".chosen").replaceChildren();
    const ranges = seen.names.map((name) => {
      const part = get("at").value.split(",").find((each) => each.trim().startsWith(`${name}=`));
      return part ? part.slice(part.indexOf("=") + 1).split(":").map(Number) : null;
    });
    if (ranges.some((range) => !range || range.length !== 3 || range.some(Number.isNaN))) return;
    const [a, b] = [across(seen, ranges[0][0]), across(seen, ranges[0][1])];
    if (seen.names.length === 1) return box(seen, a, seen.top, b - a, seen.floor - seen.top);
    const [c, d] = [down(seen, ranges[1][1]), down(seen, ranges[1][0])];
    box(seen, a, c, b - a, d - c);
  }

  let start = null;
  get("people").addEventListener("pointerdown", (event) => {
    const seen = picture();
    if (!seen) return;
    event.preventDefault();
    start = inside(seen, event);
    seen.svg.setPointerCapture(event.pointerId);
  });
  get("people").addEventListener("pointermove", (event) => {
    const seen = picture();
    if (start === null || !seen) return;
    const [x, y] = inside(seen, event);
    const flat = seen.names.length === 1;
    const [top, tall] = flat ? [seen.top, seen.floor - seen.top] : [Math.min(y, start[1]), Math.abs(y - start[1])];
    box(seen, Math.min(x, start[0]), top, Math.abs(x - start[0]), tall);
  });
  get("people").addEventListener("pointerup", (event) => {
    const seen = picture();
    if (start === null || !seen) return;
    const [x, y] = inside(seen, event);
    const [a, b] = [Math.min(x, start[0]), Math.max(x, start[0])];
    const [c, d] = [Math.max(y, start[1]), Math.min(y, start[1])];
    start = null;
    const flat = seen.names.length === 1;
    if (b - a < 4 || (!flat && c - d < 4)) {
      get("at").value = "";
    } else {
      const value = (at, from, to, lo, hi) => Number((lo + ((at - from) / (to - from)) * (hi - lo)).toPrecision(3));
      // Whole numbers, such as ages, stay whole: the ends and every step between them.
      const of = (at, lo, hi, count) => {
        if (!seen.whole[at]) return `${seen.names[at]}=${lo}:${hi}:${count}`;
        const from = Math.ceil(lo);
        const step = Math.max(Math.ceil((Math.floor(hi) - from) / (count - 1)), 1);
        const steps = Math.max(Math.floor((hi - from) / step), 1);
        return `${seen.names[at]}=${from}:${from + step * steps}:${steps + 1}`;
      };
      const xs = [a, b].map((at) => value(at, seen.left, seen.side, seen.x0, seen.x1));
      const ys = [c, d].map((at) => value(at, seen.floor, seen.top, seen.y0, seen.y1));
      get("at").value = flat
        ? of(0, ...xs, 31)
        : `${of(0, ...xs, 9)},${of(1, ...ys, 9)}`;
    }
    changed({ target: get("at") });
  });

  // --- buttons -------------------------------------------------------------------------------------------

  get("cancel").addEventListener("click", () => {
    if (running !== null) fetch(`/task/${running}/cancel`, { method: "POST" });
  });

  get("find").addEventListener("click", () =>
    ask(
      "/epsilon",
      (answer) => {
        // Rounded up: what is shown is enough.
        get("epsilon").value = Math.ceil(answer.epsilon * 1e4) / 1e4;
        ["rho", "mu"].forEach((other) => (get(other).value = "")); // which would stand in its place
        changed({ target: get("epsilon") });
      },
      { words: "Searching for the smallest epsilon" },
    ),
  );

  get("compare").addEventListener("click", () =>
    ask(
      "/compare",
      (answer) => {
        get("comparison").innerHTML = answer.html;
        get("comparison").scrollIntoView({ block: "start" });
      },
      { words: "Comparing" },
    ),
  );

  get("make").addEventListener("click", () => {
    clearTimeout(timer);
    ask(
      "/plan",
      (answer) => {
        plan = answer.plan;
        get("plan").innerHTML = answer.html;
        get("plan").classList.remove("stale");
        get("plan").focus();
        get("plan").scrollIntoView({ block: "start" });
        get("typed").addEventListener("input", agree);
        get("typed").addEventListener("keydown", (event) => {
          if (event.key === "Enter" && !get("release").disabled) release();
        });
        get("release").addEventListener("click", release);
      },
      { words: "Finding the best sketch" },
    );
  });

  function agree() {
    get("release").disabled = plan === null || get("typed").value !== get("typed").dataset.wanted;
  }

  async function release() {
    if (plan === null) return;
    const chosen = plan;
    get("release").disabled = true;
    get("typed").disabled = true;
    const told = get("releasing");
    const mine = ++latest;
    clear();
    try {
      const begun = await post("/release", { plan: chosen, typed: get("typed").value });
      if (!begun.ok) throw begun;
      form.inert = true;
      told.classList.add("working");
      const answer = await follow(begun.task, mine, (words) => (told.textContent = words));
      if (answer.state !== "done") throw answer;
      location.assign("/");
    } catch (problem) {
      form.inert = false;
      told.classList.remove("working");
      told.textContent = "";
      get("typed").disabled = false;
      const place = get("error-typed");
      place.textContent = problem.message || "The server does not answer; look at its terminal.";
      place.hidden = false;
    }
  }

  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  fit();
  boxes();
  place();
  people();
  refresh();
})();
