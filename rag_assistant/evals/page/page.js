"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);

  const splits = one("#split-switch");
  if (splits) {
    const show = () => {
      const chosen = splits.querySelector(":checked").value;
      for (const part of all(".split")) part.hidden = part.dataset.split !== chosen;
    };
    splits.hidden = false;
    splits.addEventListener("change", show);
    document.body.classList.add("switched");
    show();
  }

  const form = one("#filters");
  if (!form) return;
  form.hidden = false;
  const cards = all(".failure").map((card) => ({
    card,
    text: card.textContent.toLowerCase(),
    kinds: card.dataset.kinds.split(" "),
    wrong: card.dataset.wrong.trim().split(" "),
    runs: card.querySelectorAll(".outcome:not(.expected)").length,
  }));
  const fits = (entry, wanted) =>
    wanted.text.every((word) => entry.text.includes(word)) &&
    (!wanted.split || entry.card.dataset.split === wanted.split) &&
    (!wanted.category || entry.card.dataset.category === wanted.category) &&
    (!wanted.kind || entry.kinds.includes(wanted.kind)) &&
    (!wanted.run || (wanted.run === "some" ? entry.wrong.length < entry.runs : entry.wrong.includes(wanted.run)));

  const apply = () => {
    const field = (name) => (form.elements[name] ? form.elements[name].value : "");
    const wanted = {
      text: field("text").toLowerCase().split(/\s+/).filter(Boolean),
      split: field("split"),
      category: field("category"),
      kind: field("kind"),
      run: field("run"),
    };
    let shown = 0;
    for (const entry of cards) {
      entry.card.hidden = !fits(entry, wanted);
      shown += entry.card.hidden ? 0 : 1;
    }
    one("#count").textContent = shown === cards.length ? `${shown} questions` : `${shown} of ${cards.length} questions`;
    one("#none").hidden = shown > 0;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  one("#clear").addEventListener("click", () => {
    form.reset();
    apply();
  });
  const button = one("#open-all");
  button.addEventListener("click", () => {
    const open = button.textContent === "Open all";
    for (const entry of cards) if (!entry.card.hidden) entry.card.open = open;
    button.textContent = open ? "Close all" : "Open all";
  });
  apply();
})();
