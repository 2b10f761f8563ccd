// Forms that call the API, parts that stay fresh, charts that can be pointed at. Nothing here decides anything.
"use strict";

const problems = (body) => [body.detail || body.title, ...(body.errors || []).map((one) => `${one.pointer}: ${one.detail}`)];

function valueOf(field) {
  const text = field.value;
  switch (field.dataset.type) {
    case "bool": return field.type === "checkbox" ? field.checked : text === "true";
    case "int": return Number.parseInt(text, 10);
    case "micro": return Math.round(Number(text.replace(",", ".")) * 1e6);
    case "lines": return text.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json": return JSON.parse(text);
    default: return text;
  }
}

// What a form says, as the JSON that the API takes. Empty fields are left out.
function bodyOf(form, submitter) {
  const body = {};
  const fields = [...form.elements].filter((field) => field.name && field.tagName !== "BUTTON");
  if (submitter && submitter.name) fields.push(submitter);
  for (const field of fields) {
    if (field.type === "radio" && !field.checked) continue;
    if (field.type === "checkbox" && field.dataset.type !== "bool") {
      body[field.name] = body[field.name] || [];
      if (field.checked) body[field.name].push(field.value);
    } else if (field.value !== "") body[field.name] = valueOf(field);
  }
  return body;
}

function say(form, lines, tone) {
  const output = form.querySelector("output[role=status]");
  output.className = tone;
  output.replaceChildren(...lines.flatMap((line, index) => (index ? [document.createElement("br"), line] : [line])));
}

function mark(form, errors) {
  for (const field of form.elements) if (field.name) field.removeAttribute("aria-invalid");
  for (const one of errors || []) {
    const field = form.elements[(one.pointer || "").replace(/^#?\//, "").split("/")[0]];
    if (field && field.setAttribute) field.setAttribute("aria-invalid", "true");
  }
}

async function ask(form, submitter) {
  const [method, address] = form.dataset.call.split(" ");
  let body;
  try {
    body = bodyOf(form, submitter);
  } catch (error) {
    return say(form, [`This is not JSON: ${error.message}`], "bad");
  }
  // The same words sent again after a lost answer are the same request.
  const text = JSON.stringify(body);
  if (form.sent !== text) [form.sent, form.key] = [text, crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2)];
  const headers = { "Idempotency-Key": form.key, "Content-Type": "application/json" };
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const answer = await fetch(address, { method, headers, body: text === "{}" ? undefined : text, credentials: "same-origin" });
    const found = await answer.json().catch(() => ({}));
    mark(form, found.errors);
    if (!answer.ok) {
      if (answer.status < 500) form.sent = null;
      return say(form, problems(found), "bad");
    }
    form.sent = null;
    say(form, [form.dataset.done || "Done."], "good");
    if (form.dataset.next) location.assign(form.dataset.next.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(found[name])));
    else setTimeout(() => refresh(true), 300);
  } catch {
    say(form, ["The platform cannot be reached. Nothing is lost: send it again."], "bad");
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

async function lint(form) {
  const output = form.querySelector("[data-lint-output]");
  let body;
  try {
    body = bodyOf(form);
  } catch (error) {
    output.className = "bad";
    output.textContent = `This is not JSON: ${error.message}`;
    return;
  }
  const answer = await fetch(form.dataset.lint, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const found = await answer.json().catch(() => ({}));
  mark(form, found.errors);
  output.className = answer.ok ? "good" : "bad";
  const lines = answer.ok ? ["The checks refuse worthless work: this can be posted."] : problems(found);
  output.replaceChildren(...lines.flatMap((line, index) => (index ? [document.createElement("br"), line] : [line])));
}

// Parts of the page that may be read anew; one in which somebody is at work waits.
function isBusy(part) {
  if (part.contains(document.activeElement) && document.activeElement.closest("form, details, summary")) return true;
  if (part.querySelector("details[open]:not([data-first])")) return true;
  return [...part.querySelectorAll("input, textarea, select")].some((field) =>
    field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked
      : field.tagName === "SELECT" ? [...field.options].some((one) => one.selected !== one.defaultSelected) && field.selectedIndex > 0
        : field.value !== field.defaultValue);
}

let reading = false, again = false;
async function refresh(isMine) {
  if (reading) { again = true; return; }
  reading = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (answer.redirected) { location.reload(); return; }
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (!other || (part.isEqualNode(other)) || part.dataset.was === other.innerHTML || (!isMine && isBusy(part))) continue;
      part.dataset.was = other.innerHTML;
      part.replaceChildren(...other.childNodes);
      part.classList.remove("fresh");
      void part.offsetWidth;
      part.classList.add("fresh");
      htmx.process(part);
      draw(part);
    }
  } catch {
    // The stream says when the connection is back.
  } finally {
    reading = false;
    if (again) { again = false; refresh(); }
  }
}

// Charts. What the server drew stands there until a script can do better.
function draw(root) {
  if (!window.uPlot) return;
  const style = getComputedStyle(document.documentElement), soft = style.getPropertyValue("--soft"), edge = style.getPropertyValue("--edge");
  const colours = ["#0b8a6a", "#c2571a", "#4a6fd4", "#9a4fb0", "#888888"];
  for (const figure of root.querySelectorAll("figure[data-chart]")) {
    const { labels, series, bars } = JSON.parse(figure.dataset.chart), plot = figure.querySelector(".plot");
    if (!labels.length || plot.querySelector(".empty")) continue;
    const named = (_, splits) => splits.map((at) => (Number.isInteger(at) ? labels[at] : ""));
    const axis = { stroke: soft, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge }, font: "11px system-ui" };
    plot.replaceChildren();
    new uPlot({
      width: plot.clientWidth || 320, height: 190, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] }, y: { range: (_, low, high) => { const [a, b] = [Math.min(0, low), Math.max(0, high)]; const room = (b - a || 1) * 0.06; return [a && a - room, b + room]; } } },
      axes: [{ ...axis, values: named, incrs: [1, 2, 5, 10], space: 12 + 7 * Math.max(...labels.map((label) => label.length)), grid: { show: false } }, { ...axis, size: 44 }],
      series: [{ value: (_, at) => (at == null ? "" : labels[at]), label: "at" }, ...series.map((one, place) => ({
        label: one.name, stroke: colours[place], width: 2, points: { show: labels.length < 3 || (!one.steps && !(bars && place === 0)), size: 6 }, dash: one.steps ? [5, 3] : undefined,
        ...(bars && place === 0 ? { paths: uPlot.paths.bars({ size: [0.7, 40] }), fill: colours[0] } : one.steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      }))],
    }, [labels.map((_, at) => at), ...series.map((one) => one.values)], plot);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-call]");
  if (!form) return;
  event.preventDefault();
  ask(form, event.submitter);
});
let pause;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-lint]");
  if (!form) return;
  clearTimeout(pause);
  pause = setTimeout(() => lint(form), 500);
});
document.addEventListener("DOMContentLoaded", () => {
  draw(document);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(document));
  const live = document.getElementById("live"), offline = document.getElementById("offline");
  if (!live) return;
  let wasLost = false;
  live.addEventListener("htmx:sseOpen", (event) => {
    event.detail.source.addEventListener("changed", () => refresh());
    if (wasLost) refresh();
    wasLost = false;
    offline.hidden = true;
  });
  live.addEventListener("htmx:sseError", () => { wasLost = true; setTimeout(() => { offline.hidden = !wasLost; }, 2500); });
});
let wide = innerWidth;
addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; draw(document); } });
