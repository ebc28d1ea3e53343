// From a marker to the words it stands for, and back; and mathematics. The page is rendered anew while an answer is
// written, so what is open, lit or focused is remembered by name and put back.
window.ragSources = (() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  let pinned = null, lit = null, lastCite = null, focused = null, tip = null, tipped = null;
  const opened = new Set();

  // A marker by its place in its turn, which outlives the element.
  const placeOf = link => {
    const turn = link.closest(".turn");
    return turn && { turn: turn.dataset.turn, index: $$("a.cite", turn).indexOf(link) };
  };
  const at = place => place && $$(`.turn[data-turn="${place.turn}"] a.cite`)[place.index];
  const quotesOf = link => (link.dataset.q || "").split(" ").filter(Boolean);

  // --- which answer's sources are shown
  function showSet() {
    const sets = $$("#sources .set");
    if (!sets.length) return;
    const wanted = sets.find(s => s.dataset.turn === pinned) || sets[sets.length - 1];
    sets.forEach(s => { s.hidden = s !== wanted; });
    $$(".turn[data-turn]").forEach(t => t.classList.toggle("chosen", sets.length > 1 && t.dataset.turn === wanted.dataset.turn));
  }
  // The sources of the newest answer; those from question `first` on are others than before.
  function latest(first) {
    pinned = null;
    if (first === null) return;
    lit = lastCite = focused = null;
    opened.clear();
  }

  // --- from a marker to its words and back
  function follow(link) {
    hideTip();
    const card = document.getElementById(link.getAttribute("href").slice(1));
    if (!card) return;
    lastCite = placeOf(link);
    pinned = card.closest(".set").dataset.turn;
    lit = { card: card.id, quotes: quotesOf(link) };
    showSet();
    const marks = light(card);
    card.focus({ preventScroll: true });
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const end = marks.length ? marks[marks.length - 1].getBoundingClientRect().bottom : 0;
    const whole = end - card.getBoundingClientRect().top < innerHeight - 120; // from the title to the words
    (whole ? card : marks[0]).scrollIntoView({ block: whole ? "start" : "center", behavior: still ? "auto" : "smooth" });
  }
  function light(card) {
    $$("mark.on").forEach(m => m.classList.remove("on"));
    $$(".source.on").forEach(s => s.classList.remove("on"));
    $$(".back").forEach(b => b.remove());
    card.classList.add("on");
    $("details.abstract", card).open = true;
    const marks = $$("mark", card).filter(m => lit.quotes.includes(m.dataset.q));
    marks.forEach(m => m.classList.add("on"));
    const button = document.createElement("button");
    button.type = "button"; button.className = "quiet back"; button.dataset.do = "back";
    button.textContent = "Back to the sentence";
    card.append(button);
    return marks;
  }
  function goBack() {
    const link = at(lastCite);
    if (!link) return;
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "center" });
  }
  function restore() {
    showSet();
    opened.forEach(id => { const box = $(`#${id} details.abstract`); if (box) box.open = true; });
    const card = lit && document.getElementById(lit.card);
    if (card && !card.classList.contains("on")) {
      light(card);
      if (document.activeElement === document.body && !focused) card.focus({ preventScroll: true });
    }
    if (tip && !tipped.isConnected) hideTip();
    if (focused && document.activeElement === document.body) at(focused)?.focus({ preventScroll: true });
  }
  document.addEventListener("toggle", event => {
    const card = event.target.matches?.("details.abstract") && event.target.closest(".source");
    if (card) opened[event.target.open ? "add" : "delete"](card.id);
  }, true);

  // --- the quoted words beside a marker
  function showTip(link) {
    hideTip();
    if (link.title) { link.dataset.tip = link.title; link.removeAttribute("title"); }
    const card = document.getElementById(link.getAttribute("href").slice(1));
    tip = document.createElement("div");
    tipped = link;
    tip.id = "tip"; tip.setAttribute("role", "tooltip");
    const quotes = card ? $$(".quotes li", card).filter(li => quotesOf(link).includes(li.dataset.q)) : [];
    if (card) { const title = document.createElement("strong"); title.textContent = $("h3", card).textContent; tip.append(title); }
    quotes.forEach(li => { const p = document.createElement("p"); p.append(...li.cloneNode(true).childNodes); tip.append(p); });
    if (!quotes.length) { const p = document.createElement("p"); p.textContent = link.dataset.tip || "From the bibliography."; tip.append(p); }
    document.body.append(tip);
    link.setAttribute("aria-describedby", "tip");
    const from = link.getBoundingClientRect(), box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(from.left - 20, innerWidth - box.width - 8))}px`;
    tip.style.top = `${from.top - box.height - 8 > 8 ? from.top - box.height - 8 : from.bottom + 8}px`;
  }
  function hideTip() {
    if (!tip) return false;
    tip.remove();
    tipped.removeAttribute("aria-describedby");
    tip = tipped = null;
    return true;
  }
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, event => { const cite = event.target.closest?.("a.cite"); if (cite) showTip(cite); });
    document.addEventListener(off, event => { if (event.target.closest?.("a.cite")) hideTip(); });
  }
  document.addEventListener("focusin", event => { const cite = event.target.closest?.("a.cite"); focused = cite ? placeOf(cite) : null; });
  document.addEventListener("pointerdown", () => { focused = null; });
  addEventListener("scroll", hideTip, true);

  // --- mathematics, with the KaTeX that Gradio ships
  let katex = null;
  async function typeset(root) {
    const todo = $$(".math:not([data-done])", root);
    if (!todo.length) return;
    const meta = $('meta[name="rag-katex"]');
    if (!katex && meta) katex = import(new URL(meta.content, document.baseURI).href).then(m => m.default, () => null);
    const library = await katex;
    if (!library) return;
    todo.forEach(span => {
      if (!span.isConnected || span.dataset.done) return;
      span.dataset.source = span.textContent;
      span.dataset.done = "1";
      try {
        library.render(span.dataset.tex, span, { displayMode: span.dataset.display === "1", throwOnError: true, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 });
      } catch { span.textContent = span.dataset.source; }
    });
  }
  return { latest, follow, goBack, hideTip, restore, typeset };
})();
