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
    } else if (field.dataset.many !== undefined) {
      body[field.name] = body[field.name] || [];
      body[field.name].push(valueOf(field));
    } else if (field.value !== "") body[field.name] = valueOf(field);
  }
  return body;
}

function say(form, lines, tone) {
  const output = form.querySelector("output[role=status]");
  output.className = tone;
  output.replaceChildren(...lines.flatMap((line, index) => (index ? [document.createElement("br"), line] : [line])));
}

// What an answer says that is itself what was asked for.
const TOLD = {
  replay(found) {
    const lines = found.criteria.map((one) => `${one.agreement.replaceAll("_", " ")} — ${one.id}: ${one.detail}`);
    const differs = found.criteria.some((one) => one.agreement === "disagrees");
    return [[found.same_work ? `Revision ${found.revision}, the same work:` : `Revision ${found.revision}; what lies there is not what was judged:`, ...lines], differs || !found.same_work ? "bad" : "good"];
  },
  journal(found) {
    const findings = found.findings.map((one) => `${one.what.replaceAll("_", " ")}${one.last_seq ? `, facts ${one.first_seq} to ${one.last_seq}` : ""}: ${one.detail}`);
    const left = found.findings_left_out ? [`and ${found.findings_left_out} more`] : [];
    const before = found.verified_before ? [`The first ${found.verified_before} facts were found intact before and not read again.`] : [];
    return [[found.intact ? "Intact." : "Not intact.", `${found.facts} facts, ${found.unsealed} of them not sealed yet; ${found.heads} heads in the journal, ${found.heads_from_elsewhere} kept by the auditor.`, ...findings, ...left, ...found.audit_log, ...before], found.intact ? "good" : "bad"];
  },
};

function mark(form, errors) {
  for (const field of form.elements) if (field.name) field.removeAttribute("aria-invalid");
  for (const one of errors || []) {
    const field = form.elements[(one.pointer || "").replace(/^#?\//, "").split("/")[0]];
    if (field && field.setAttribute) field.setAttribute("aria-invalid", "true");
  }
}

const SENT = new WeakMap(); // beside the forms: a field may have any name
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
  if (!SENT.has(form) || SENT.get(form).text !== text) SENT.set(form, { text, key: crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2) });
  const headers = { "Idempotency-Key": SENT.get(form).key, "Content-Type": "application/json" };
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const told = TOLD[form.dataset.told];
    if (told) say(form, ["At work …"], "");
    const answer = await fetch(method === "GET" ? `${address}?${new URLSearchParams(body)}` : address, { method, headers, body: method === "GET" || text === "{}" ? undefined : text, credentials: "same-origin" });
    const found = await answer.json().catch(() => ({}));
    mark(form, found.errors);
    if (!answer.ok) {
      if (answer.status < 500) SENT.delete(form);
      return say(form, problems(found), "bad");
    }
    SENT.delete(form);
    if (told) return say(form, ...told(found));
    form.reset();
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

const AGAIN_MS = 250; // until a page that is not whole yet is looked at again
let reading = false, again = null; // `again`: whether somebody who acted waits for the next reading
async function refresh(isMine = false) {
  if (reading) { again = again || isMine; return; }
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
      still(part);
    }
  } catch {
    // The stream says when the connection is back.
  } finally {
    reading = false;
    if (document.querySelector("[data-again]")) setTimeout(refresh, AGAIN_MS);
    if (again !== null) { const mine = again; again = null; refresh(mine); }
  }
}

// Whoever walks on the map is moved by the picture itself, but for people who want nothing to move.
function still(root) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) root.querySelectorAll("svg.town").forEach((map) => map.pauseAnimations());
}

// Charts. What the server drew stands there until a script can do better.
function draw(root) {
  if (!window.uPlot) return;
  const style = getComputedStyle(document.documentElement), soft = style.getPropertyValue("--soft"), edge = style.getPropertyValue("--edge");
  const colours = ["#0b8a6a", "#c2571a", "#4a6fd4", "#9a4fb0", "#888888"];
  for (const figure of root.querySelectorAll("figure[data-chart]")) {
    const { labels, series, bars, across, up } = JSON.parse(figure.dataset.chart), plot = figure.querySelector(".plot");
    if (!labels.length || plot.querySelector(".empty")) continue;
    const named = (_, splits) => splits.map((at) => (Number.isInteger(at) ? labels[at] : ""));
    const axis = { stroke: soft, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge }, font: "11px system-ui" };
    plot.replaceChildren();
    new uPlot({
      width: plot.clientWidth || 320, height: 210, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] }, y: { range: (_, low, high) => { const [a, b] = [Math.min(0, low), Math.max(0, high)]; const room = (b - a || 1) * 0.06; return [a && a - room, b + room]; } } },
      axes: [{ ...axis, values: named, incrs: [1, 2, 5, 10], space: 12 + 7 * Math.max(...labels.map((label) => label.length)), grid: { show: false }, label: across, labelSize: 18, labelFont: axis.font }, { ...axis, size: 52, label: up, labelSize: 18, labelFont: axis.font }],
      series: [{ value: (_, at) => (at == null ? "" : labels[at]), label: "at" }, ...series.map((one, place) => ({
        label: one.name, stroke: colours[place], width: 2, points: { show: labels.length < 3 || (!one.steps && !(bars && place === 0)), size: 6 }, dash: one.steps ? [5, 3] : undefined,
        value: (_, value) => (value == null ? "" : String(Math.round(value * 1000) / 1000)),
        ...(bars && place > 0 && !one.steps ? { paths: () => null } : {}),
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
  still(document);
  if (document.querySelector("[data-again]")) setTimeout(refresh, AGAIN_MS);
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
