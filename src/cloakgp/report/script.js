"use strict";
// Predictions of the release, computed in this page: the formulas are those of model.py.
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);

  // --- arrays ------------------------------------------------------------------------------

  const KINDS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f8: Float64Array };

  function decoded(written) {
    const bytes = Uint8Array.from(atob(written.data), (c) => c.charCodeAt(0));
    const numbers = Float64Array.from(new KINDS[written.kind](bytes.buffer));
    if (written.steps) for (let i = 0; i < numbers.length; i++) numbers[i] /= 2 ** written.steps;
    return { numbers, width: written.shape.length > 1 ? written.shape[1] : 1 };
  }

  const row = (array, k) => array.numbers.subarray(k * array.width, (k + 1) * array.width);

  // --- kernels: between x and the anchor that starts at a[o], and at x itself ----------------

  function distance(lengths) {
    return (x, a, o) => {
      let sum = 0;
      for (let i = 0; i < x.length; i++) {
        const d = (x[i] - a[o + i]) / lengths[lengths.length === 1 ? 0 : i];
        sum += d * d;
      }
      return sum;
    };
  }

  const STATIONARY = {
    rbf: (q) => Math.exp(-0.5 * q),
    matern12: (q) => Math.exp(-Math.sqrt(q)),
    matern32: (q) => {
      const d = Math.sqrt(3 * q);
      return (1 + d) * Math.exp(-d);
    },
    matern52: (q) => {
      const d = Math.sqrt(5 * q);
      return (1 + d + (d * d) / 3) * Math.exp(-d);
    },
  };

  // 1 where the nearest of some centres is the same; the cells of people are found once.
  function cells(units, centres) {
    const [square, width] = [distance(units), centres[0].length];
    const flat = Float64Array.from(centres.flat());
    const nearest = (x) => {
      let [best, least] = [0, Infinity];
      for (let k = 0; k < centres.length; k++) {
        const q = square(x, flat, k * width);
        if (q < least) [best, least] = [k, q];
      }
      return best;
    };
    const known = new WeakMap();
    const cellOf = (a, o) => {
      if (!known.has(a)) known.set(a, new Map());
      const found = known.get(a);
      if (!found.has(o)) found.set(o, nearest(a.slice(o, o + width)));
      return found.get(o);
    };
    return { cross: (x, a, o) => (nearest(x) === cellOf(a, o) ? 1 : 0), own: 1 };
  }

  function kernel([name, first, second]) {
    if (name === "+" || name === "*") {
      const [f, g] = [kernel(first), kernel(second)];
      return name === "+"
        ? { cross: (x, a, o) => f.cross(x, a, o) + g.cross(x, a, o), own: f.own + g.own }
        : { cross: (x, a, o) => f.cross(x, a, o) * g.cross(x, a, o), own: f.own * g.own };
    }
    if (name === "power") {
      const f = kernel(first);
      return { cross: (x, a, o) => f.cross(x, a, o) ** second, own: f.own ** second };
    }
    if (name === "constant") return { cross: () => first, own: first };
    if (name === "white") return { cross: () => 0, own: first };
    if (name === "quadratic") {
      const square = distance([first]);
      return { cross: (x, a, o) => (1 + square(x, a, o) / (2 * second)) ** -second, own: 1 };
    }
    if (name === "periodic") {
      const square = distance([second / Math.PI]);
      const cross = (x, a, o) => Math.exp(-2 * (Math.sin(Math.sqrt(square(x, a, o))) / first) ** 2);
      return { cross, own: 1 };
    }
    if (name === "cells") return cells(first, second);
    const [square, shape] = [distance(first), STATIONARY[name]];
    return { cross: (x, a, o) => shape(square(x, a, o)), own: 1 };
  }

  // --- the model: mean and variance of f under each setting ----------------------------------

  function cholesky(triangle, size) {
    const L = new Float64Array(size * size);
    for (let i = 0, t = 0; i < size; i++) {
      for (let j = 0; j <= i; j++, t++) {
        let sum = triangle[t];
        for (let k = 0; k < j; k++) sum -= L[i * size + k] * L[j * size + k];
        L[i * size + j] = i === j ? Math.sqrt(sum) : sum / L[j * size + j];
      }
    }
    return L;
  }

  function prepared(model) {
    const arrays = model.arrays.map(decoded);
    const kernels = model.kernels.map(kernel);
    const blocks = model.blocks.map(([k, a, m]) => [kernels[k], arrays[a], arrays[m]]);
    const columns = model.columns.map((column) => {
      const named = {};
      for (const [key, value] of Object.entries(column)) {
        named[key] = typeof value === "number" && key !== "level" && key !== "unit"
          ? arrays[value] : value;
      }
      const size = named.white.width;
      named.weights = named.weights.numbers;
      named.noise = named.noise.numbers;
      named.roots = Array.from(named.weights, (_, k) => {
        const triangle = new Float64Array(named.basis.width);
        row(named.mixed, k).forEach((share, q) => {
          const part = row(named.basis, q);
          for (let i = 0; i < triangle.length; i++) triangle[i] += share * part[i];
        });
        return cholesky(triangle, size);
      });
      named.prior = named.variances.map((terms, k) =>
        terms.reduce((sum, [j, v]) => sum + v * kernels[j].own, named.flat.numbers[k]));
      return named;
    });
    return { blocks, columns };
  }

  function told([k, anchors, matrix], x) {
    const sums = new Float64Array(matrix.width);
    const count = anchors.numbers.length / anchors.width;
    for (let n = 0; n < count; n++) {
      const value = k.cross(x, anchors.numbers, n * anchors.width);
      const start = n * matrix.width;
      for (let i = 0; i < sums.length; i++) sums[i] += value * matrix.numbers[start + i];
    }
    return sums;
  }

  function moments(model, x) {
    const sums = model.blocks.map((block) => told(block, x));
    return model.columns.map((column) => {
      const size = column.white.width;
      const half = new Float64Array(size);
      const [means, variances] = [[], []];
      for (let k = 0; k < column.weights.length; k++) {
        const [L, white] = [column.roots[k], row(column.white, k)];
        half.set(row(column.constant, k));
        for (const [b, v] of column.terms[k]) {
          for (let i = 0; i < size; i++) half[i] += v * sums[b][i];
        }
        let [mean, explained] = [0, 0];
        for (let i = 0; i < size; i++) {
          for (let j = 0; j < i; j++) half[i] -= L[i * size + j] * half[j];
          half[i] /= L[i * size + i];
          mean += half[i] * white[i];
          explained += half[i] * half[i];
        }
        means.push(column.level + column.unit * mean);
        variances.push(column.unit ** 2 * Math.max(column.prior[k] - explained, 0));
      }
      return { weights: column.weights, noise: column.noise, means, variances };
    });
  }

  // --- distributions -------------------------------------------------------------------------

  const average = (weights, values) => values.reduce((sum, v, k) => sum + weights[k] * v, 0);
  const logistic = (f) => 1 / (1 + Math.exp(-f));

  function normal(z) {
    const density = Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
    if (Math.abs(z) < 4) {
      let [term, sum] = [z, z];
      for (let n = 1; Math.abs(term) > 1e-18 && n < 200; n++) {
        term *= (z * z) / (2 * n + 1);
        sum += term;
      }
      return 0.5 + density * sum;
    }
    let below = Math.abs(z); // the continued fraction of Mills' ratio
    for (let n = 60; n > 0; n--) below = Math.abs(z) + n / below;
    return z > 0 ? 1 - density / below : density / below;
  }

  function quantile(of, share, tail, noise) {
    const stds = of.variances.map((v, k) => Math.sqrt(v + (noise ? noise[k] : 0)));
    const reach = of.means.map((m, k) => m + tail * stds[k]);
    if (reach.length === 1) return reach[0];
    let [low, high] = [Math.min(...reach), Math.max(...reach)];
    for (let n = 0; n < 60; n++) {
      const middle = 0.5 * (low + high);
      let below = 0;
      for (let k = 0; k < stds.length; k++) {
        below += of.weights[k] * normal((middle - of.means[k]) / Math.max(stds[k], 1e-300));
      }
      if (below < share) low = middle;
      else high = middle;
    }
    return 0.5 * (low + high);
  }

  const TAIL = page.tail; // the 2.5 % point of a normal distribution
  const ends = (of, noise) => [quantile(of, 0.025, TAIL, noise), quantile(of, 0.975, -TAIL, noise)];

  function expectedLogistic(mean, variance) {
    const std = Math.sqrt(Math.max(variance, 0));
    let sum = 0;
    if (std <= 1) {
      for (let z = -9; z <= 9; z += 0.5) {
        sum += logistic(mean + std * z) * 0.5 * Math.exp(-0.5 * z * z);
      }
      sum /= Math.sqrt(2 * Math.PI);
    } else {
      for (let x = -40; x <= 40; x += 0.5) {
        sum += normal((mean - x) / std) * 0.5 * logistic(x) * logistic(-x);
      }
    }
    return Math.min(Math.max(sum, 0), 1);
  }

  function logFactorial(n) {
    if (n < 40) {
      let product = 1;
      for (let i = 2; i <= n; i++) product *= i;
      return Math.log(product);
    }
    const x = n + 1; // Stirling's series
    const series = 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5);
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
  }

  // The probability that a Poisson count of this rate is at most n.
  function atMost(n, rate) {
    if (n < 0) return 0;
    if (rate === 0) return 1;
    const a = n + 1;
    const front = Math.exp(a * Math.log(rate) - rate - logFactorial(n));
    if (rate < a + 1) {
      let [term, sum] = [1 / a, 1 / a];
      for (let i = 1; term > 1e-17 * sum && i < 1e5; i++) {
        term *= rate / (a + i);
        sum += term;
      }
      return 1 - front * sum;
    }
    let b = rate + 1 - a; // Lentz's way through the continued fraction
    let c = 1e300;
    let d = 1 / b;
    let h = d;
    for (let i = 1; i < 1e5; i++) {
      const an = -i * (i - a);
      b += 2;
      d = 1 / (an * d + b || 1e-300);
      c = b + an / c || 1e-300;
      h *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return front * h;
  }

  function countQuantile(of, share) {
    const { node, weight } = page.hermite;
    const [rates, chances] = [[], []];
    of.means.forEach((m, k) => {
      const std = Math.sqrt(of.variances[k] + of.noise[k]);
      node.forEach((z, i) => {
        rates.push(Math.exp(Math.min(Math.max(m + std * z, -700), 30)));
        chances.push(of.weights[k] * weight[i]);
      });
    });
    let [low, high] = [-1, Math.ceil(2 * Math.max(...rates) + 100)];
    while (high - low > 1) {
      const middle = Math.floor(0.5 * (low + high));
      let below = 0;
      for (let i = 0; i < rates.length; i++) below += chances[i] * atMost(middle, rates[i]);
      if (below >= share) high = middle;
      else low = middle;
    }
    return high;
  }

  // --- predictions: one entry for each output or class ----------------------------------------

  const OUTCOMES = {
    number: (all) => all.map((of, c) => {
      const value = average(of.weights, of.means);
      const apart = of.means.map((m, k) => of.variances[k] + (m - value) ** 2);
      const [low, high] = ends(of);
      const person = ends(of, of.noise);
      return { name: page.names[c], value, low, high, person,
        std: Math.sqrt(average(of.weights, apart)) };
    }),
    label: (all) => {
      const inside = all.map((of) =>
        average(of.weights, of.means.map((m, k) => expectedLogistic(m, of.variances[k]))));
      const bands = all.map((of) => ends(of).map(logistic));
      if (inside.length === 1) {
        inside.unshift(1 - inside[0]);
        bands.unshift([1 - bands[0][1], 1 - bands[0][0]]);
      } else if (inside.every((p) => p === 0)) inside.fill(1);
      const sum = all.length === 1 ? 1 : inside.reduce((a, b) => a + b, 0);
      return inside.map((p, c) => ({ name: page.classes[c], value: p / sum, low: bands[c][0],
        high: bands[c][1] }));
    },
    count: ([of]) => {
      const rates = of.means.map((m, k) => Math.exp(Math.min(m + 0.5 * of.variances[k], 700)));
      const [low, high] = ends(of).map((f) => Math.exp(Math.min(f, 700)));
      const person = [countQuantile(of, 0.025), countQuantile(of, 0.975)];
      const value = page.rate === "median"
        ? Math.exp(Math.min(quantile(of, 0.5, 0), 700)) : average(of.weights, rates);
      return [{ name: page.names[0], value, low, high, person }];
    },
  };

  // Between the points of a grid, where the page cannot compute: linear along each side.
  function interpolated(grid, x) {
    let corners = [[0, 1]];
    for (let i = grid.sides.length - 1; i >= 0; i--) {
      const side = grid.sides[i]; // the first side is the quickest to change
      const last = side.length - 1;
      const at = ((x[i] - side[0]) / (side[last] - side[0])) * last;
      if (!(at >= 0 && at <= last)) return null;
      const cell = Math.min(Math.floor(at), last - 1);
      const share = at - cell;
      corners = corners.flatMap(([index, w]) =>
        [[index * (last + 1) + cell, w * (1 - share)], [index * (last + 1) + cell + 1, w * share]]);
    }
    const read = (values) => corners.reduce((sum, [index, w]) => sum + w * values[index], 0);
    return grid.series.map((s) => ({ name: s.name, value: read(s.value), low: read(s.low),
      high: read(s.high), person: s.person ? s.person.map(read) : undefined }));
  }

  // From places along the inputs to the columns of the model, as Columns.expand does it.
  const level = (v, count) => Math.min(Math.max(Math.round(v), 0), count - 1);
  function encoded(x) {
    return page.inputs.flatMap((input, i) => {
      const how = input.encode;
      if (!how) return [x[i]];
      if (how.levels) {
        const one = level(x[i], how.levels);
        return Array.from({ length: how.levels }, (_, k) => (k === one ? 1 : 0));
      }
      const value = input.levels ? level(x[i], input.levels.length) : (x[i] - how.shift) / how.scale;
      return how.flag ? [value, 0] : [value];
    });
  }

  let ready = null;
  function raw(x) {
    if (!page.model) return page.grid ? interpolated(page.grid, x) : null;
    ready = ready || prepared(page.model);
    return OUTCOMES[page.kind](moments(ready, encoded(x)));
  }

  // Outputs never lie outside of the bounds, so nothing that is shown does.
  const within = (v, [lo, hi]) => Math.max(lo, hi === null ? v : Math.min(hi, v));
  function predict(x) {
    const found = raw(x);
    return found && found.map((one, c) => {
      const inside = (v) => within(v, page.bounds[Math.min(c, page.bounds.length - 1)]);
      const person = one.person && one.person.map(inside);
      const [value, low, high] = [one.value, one.low, one.high].map(inside);
      return { ...one, value, low, high, person };
    });
  }
  globalThis.cloakgp = {
    predict: (x, clip = "bounds") => (clip === null ? raw : predict)(Array.from(x, Number)),
  };

  // --- the page ------------------------------------------------------------------------------

  document.documentElement.classList.add("js");
  const copy = document.querySelector("[data-copy]");
  if (copy) {
    copy.addEventListener("click", async () => {
      const block = document.getElementById(copy.dataset.copy);
      try {
        await navigator.clipboard.writeText(block.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        copy.textContent = "Selected: copy it now";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }
  if (!page.model && !page.grid) return;

  const shown = (v) => {
    if (!Number.isFinite(v)) return "–";
    const size = Math.abs(v);
    const text = size !== 0 && (size < 1e-4 || size >= 1e7)
      ? v.toExponential(2).replace("e+", "e")
      : Number(v.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 });
    return text.replace("-", "−");
  };
  const DAY = 864e5;
  const start = (input) => Date.parse(`${input.origin}${input.origin.length > 10 ? "Z" : ""}`);
  const day = (input, v) => new Date(start(input) + Math.round(v) * DAY).toISOString().slice(0, 10);
  const written = (input, v) => {
    if (input.levels) return input.levels[level(v, input.levels.length)];
    return input.origin ? day(input, v) : shown(v);
  };

  const fields = [...document.querySelectorAll("[data-ask]")];
  const answer = document.querySelector("[data-answer]");
  const pictures = [...document.querySelectorAll("svg[data-varies]")].map((svg) => ({
    svg,
    varies: svg.dataset.varies.split(" ").map(Number),
    series: svg.dataset.series.split(" ").map(Number),
    redraw: "redraw" in svg.dataset,
    frame: svg.dataset.frame.split(" ").map(Number),
    cursor: svg.querySelector(".cursor"),
  }));
  const at = page.inputs.map((input) => input.at);
  const NS = "http://www.w3.org/2000/svg";

  function draw(parent, name, attributes) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
  }

  const across = ([l, r, , , x0, x1], x) => l + ((x - x0) / (x1 - x0)) * (r - l);
  const down = ([, , t, b, , , y0, y1], y) => {
    const inside = Math.min(Math.max(y, y0), y1);
    return t + ((y1 - inside) / (y1 - y0)) * (b - t);
  };

  // What a curve shows: of two classes the second alone.
  const curveOf = (found, c) => found[page.classes && page.names.length === 1 ? 1 : c];

  function mark(picture, found) {
    const { frame, cursor, varies } = picture;
    const [l, r, t, b, x0, x1, y0, y1] = frame;
    cursor.replaceChildren();
    const [x, y] = [at[varies[0]], at[varies[1]]];
    if (x < x0 || x > x1) return;
    const px = across(frame, x);
    if (varies.length === 2) {
      if (y < y0 || y > y1) return;
      const py = down(frame, y);
      draw(cursor, "circle", { cx: px, cy: py, r: 7, class: "ring-rim" });
      draw(cursor, "circle", { cx: px, cy: py, r: 7, class: "ring" });
      return;
    }
    draw(cursor, "path", { d: `M${px} ${t}V${b}`, class: "hair" });
    if (!found) return;
    for (const c of picture.series) {
      const one = curveOf(found, c);
      if (picture.series.length === 1) {
        const ends = `M${px} ${down(frame, one.low)}V${down(frame, one.high)}`;
        draw(cursor, "path", { d: ends, class: "bar" });
      }
      draw(cursor, "circle", { cx: px, cy: down(frame, one.value), r: 4.5, class: "dot" });
    }
  }

  function redraw(picture) {
    const { svg, frame, varies } = picture;
    const place = at.slice();
    const { levels } = page.inputs[varies[0]];
    const xs = levels
      ? levels.flatMap((_, k) => [k - 0.4999, k + 0.4999])
      : Array.from({ length: 41 }, (_, i) => frame[4] + (i / 40) * (frame[5] - frame[4]));
    const all = xs.map((x) => {
      place[varies[0]] = x;
      return predict(place);
    });
    if (all.includes(null)) return;
    // What privacy alone costs is known where the page was opened; elsewhere only Python has it.
    const figure = svg.closest("figure");
    for (const each of figure.querySelectorAll(".legend .noise")) each.closest("li").remove();
    for (const each of figure.querySelectorAll(".noise")) each.remove();
    const points = (key, c) =>
      xs.map((x, i) => `${across(frame, x).toFixed(2)} ${down(frame, curveOf(all[i], c)[key]).toFixed(2)}`);
    for (const c of picture.series) {
      const [low, high] = [points("low", c), points("high", c)];
      svg.querySelector(`[data-curve="${c}"]`).setAttribute("d", `M${points("value", c).join("L")}`);
      svg.querySelector(`[data-band="${c}"]`)
        .setAttribute("d", `M${high.join("L")}L${[...low].reverse().join("L")}Z`);
      const rims = svg.querySelectorAll(".rim");
      [low, high].forEach((end, i) => rims[i] && rims[i].setAttribute("d", `M${end.join("L")}`));
    }
  }

  function line(cells, name) {
    const made = document.createElement("tr");
    cells.forEach((words, i) => {
      const cell = document.createElement(i ? "td" : name);
      cell.textContent = words;
      made.append(cell);
    });
    return made;
  }

  function say(found) {
    if (!found) {
      answer.textContent = "This place lies outside of the grid that this page has; use Python.";
      return "no prediction here";
    }
    const table = document.createElement("table");
    const people = { number: `95 % of ${page.people}`, count: "95 % of counts" }[page.kind];
    const what = { number: "prediction", label: "probability", count: `rate (${page.rate})` }[page.kind];
    const band = page.kind === "number" ? "95 % band of the curve" : "95 % band";
    table.append(line(["", what, band].concat(people ? [people] : []), "th"));
    found.forEach((one) => {
      const cells = [one.name, shown(one.value), `${shown(one.low)} to ${shown(one.high)}`];
      if (people) {
        cells.push(one.person.map((v) =>
          shown(page.kind === "count" ? Math.round(v) : v)).join(" to "));
      }
      table.append(line(cells, "th"));
    });
    answer.replaceChildren(table);
    const one = curveOf(found, 0);
    return `${one.name}: ${shown(one.value)}, from ${shown(one.low)} to ${shown(one.high)}`;
  }

  let waiting = 0;
  let redrawing = 0;
  function update(from) {
    if (waiting) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      const found = predict(at);
      const words = say(found);
      fields.forEach((field) => {
        const i = Number(field.dataset.ask);
        if (field !== document.activeElement || from !== field) {
          const input = page.inputs[i];
          if (input.levels) field.value = String(level(at[i], input.levels.length));
          else field.value = input.origin ? day(input, at[i]) : String(Number(at[i].toPrecision(6)));
        }
      });
      pictures.forEach((picture) => {
        mark(picture, found);
        const i = picture.varies[0];
        if (picture.svg.getAttribute("role") === "slider") {
          picture.svg.setAttribute("aria-valuenow", String(at[i]));
          picture.svg.setAttribute("aria-valuetext", `${page.inputs[i].name} ${written(page.inputs[i], at[i])}; ${words}`);
        } else picture.svg.setAttribute("aria-label", `${picture.svg.dataset.label}. ${words}`);
      });
      if (!from) return; // the pictures are as Python has drawn them
      clearTimeout(redrawing);
      redrawing = setTimeout(() => {
        pictures.filter((p) => p.redraw && p !== from).forEach(redraw);
      }, 60);
    });
  }

  for (const picture of pictures) {
    const { svg, frame, varies } = picture;
    const [l, r, t, b, x0, x1, y0, y1] = frame;
    const move = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const share = (v, from, to) => Math.min(Math.max((v - from) / (to - from), 0), 1);
      at[varies[0]] = x0 + share((event.clientX - box.left) * scale, l, r) * (x1 - x0);
      if (varies.length === 2) {
        at[varies[1]] = y1 - share((event.clientY - box.top) * scale, t, b) * (y1 - y0);
      }
      update(picture);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.tabIndex = 0;
    svg.dataset.label = svg.querySelector("title").textContent;
    if (varies.length === 1) {
      const ends = { role: "slider", "aria-valuemin": x0, "aria-valuemax": x1 };
      for (const [key, value] of Object.entries(ends)) svg.setAttribute(key, value);
      svg.setAttribute("aria-label", svg.dataset.label);
    } else svg.setAttribute("role", "application");
    svg.addEventListener("keydown", (event) => {
      const keys = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1] };
      const step = event.shiftKey ? 0.1 : 0.01;
      if (keys[event.key]) {
        let [side, sign] = keys[event.key];
        if (varies.length === 1) side = 0;
        const [from, to] = side ? [y0, y1] : [x0, x1];
        const next = at[varies[side]] + sign * step * (to - from);
        at[varies[side]] = Math.min(Math.max(next, from), to);
      } else if (event.key === "Home") at[varies[0]] = x0;
      else if (event.key === "End") at[varies[0]] = x1;
      else return;
      event.preventDefault();
      update(picture);
    });
  }
  for (const field of fields) {
    field.addEventListener("input", () => {
      const i = Number(field.dataset.ask);
      const input = page.inputs[i];
      const value = input.levels ? Number(field.value)
        : input.origin ? (Date.parse(field.value) - start(input)) / DAY : field.valueAsNumber;
      if (!Number.isFinite(value)) return;
      at[i] = value;
      update(field);
    });
  }
  update(null);
})();
