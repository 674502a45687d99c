// What a page cannot do without a script: copying, and keys. It reads no row but from this server, and writes none.
"use strict";
const KEYS = "Keys: / search, j or → later, k or ← earlier, h all datasets, c copy the row as JSON, ? this line";
const note = document.createElement("p");
note.className = "note";
note.setAttribute("role", "status");
document.querySelector("main").append(note);

function say(words) {
  note.textContent = words;
}

async function copy(words) {
  await navigator.clipboard.writeText(words);
  say("Copied.");
}

function addButton(after, label, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.addEventListener("click", () => action().catch(() => say("The browser does not let this page copy.")));
  after.after(button);
  return action;
}

const json = document.getElementById("json");
const copyRow = json && addButton(json, "Copy as JSON", async () => copy(await (await fetch(json.href)).text()));
for (const code of document.querySelectorAll("[data-copy]"))
  addButton(code, code.dataset.copy, () => copy(code.textContent));

const follow = (which) => document.querySelector(which)?.click();
const ACTIONS = {
  "/": () => document.getElementById("find")?.focus(),
  j: () => follow("a[rel=next]"),
  ArrowRight: () => follow("a[rel=next]"),
  k: () => follow("a[rel=prev]"),
  ArrowLeft: () => follow("a[rel=prev]"),
  h: () => follow(".trail a"),
  c: () => copyRow?.().catch(() => say("The browser does not let this page copy.")),
  "?": () => say(KEYS),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, pre, [role=region]") && event.key !== "?";
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !ACTIONS[event.key]) return;
  event.preventDefault();
  ACTIONS[event.key]();
});
