// What the page does by itself: asking, following markers, drawers, mathematics. Everything else is the server's.
window.rag = (() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const KEY = "rag-assistant-chats", THEME = "rag-assistant-theme", DRAFT = "rag-assistant-draft";
  let send = null, running = false, edit = null, about = null, lastCite = null, pinned = null, stale = false;

  // --- theme: as the system says, until someone chooses
  const dark = () => (localStorage.getItem(THEME) || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const paint = () => document.body && document.body.classList.contains("dark") !== dark() && document.body.classList.toggle("dark", dark());

  // --- asking
  const question = () => $("#question");
  const fit = () => { const q = question(); if (q) { q.style.height = "auto"; q.style.height = `${Math.min(q.scrollHeight, 200)}px`; } };
  const say = text => { const place = $(".say"); if (place && place.textContent !== text) place.textContent = text; };
  const setRunning = on => {
    running = on;
    document.body.classList.toggle("running", on);
    const ask = $("#ask"), stop = $("#stop");
    if (ask) { ask.hidden = on; stop.hidden = !on; }
  };
  function chip(text) {
    const box = $(".composer .chip");
    if (!box) return;
    box.hidden = !text;
    $("span", box).textContent = text || "";
  }
  function unchip() { edit = null; about = null; chip(""); }
  function ask(text) {
    text = text.trim();
    if (!text || running || !send) return;
    const job = { question: text };
    if (edit !== null) job.edit = edit;
    if (about !== null) job.about = about;
    setRunning(true);
    pinned = null;
    unchip();
    question().value = "";
    fit();
    closeDrawers();
    send.ask(job);
  }
  function stop() {
    if (!running) return;
    const live = $("#live .turn");
    send.halt({ text: live ? live.dataset.text : "" });
    setRunning(false);
    say("Stopped.");
    question().focus();
  }
  function done() {
    if (!running) return;
    setRunning(false);
    const last = $$("#conversation .turn").pop();
    if (last && following) last.scrollIntoView({ block: last.offsetHeight > innerHeight - 220 ? "start" : "end" });
    const count = last ? new Set($$("a.cite", last).map(a => a.getAttribute("href"))).size : 0;
    const status = last && $(".status, .trouble p, .note", last);
    say(status ? status.textContent : `The answer is ready, with ${count} source${count === 1 ? "" : "s"}.`);
  }

  // --- sources
  function showSet() {
    const sets = $$("#sources .set");
    if (!sets.length) return;
    const wanted = sets.find(s => s.dataset.turn === pinned) || sets[sets.length - 1];
    sets.forEach(s => { s.hidden = s !== wanted; });
    $$("#conversation .turn").forEach(t => t.classList.toggle("chosen", sets.length > 1 && t.dataset.turn === wanted.dataset.turn));
  }
  const numbers = link => (link.dataset.q || "").split(" ").filter(Boolean);
  function follow(link) {
    const id = link.getAttribute("href").slice(1);
    const card = document.getElementById(id);
    if (!card) return;
    lastCite = link;
    pinned = card.closest(".set").dataset.turn;
    showSet();
    $$("mark.on").forEach(m => m.classList.remove("on"));
    $$(".source.on").forEach(s => s.classList.remove("on"));
    card.classList.add("on");
    $("details.abstract", card).open = true;
    const wanted = numbers(link);
    const marks = $$("mark", card).filter(m => wanted.includes(m.dataset.q));
    marks.forEach(m => m.classList.add("on"));
    back(card);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    card.focus({ preventScroll: true });
    const end = marks.length ? marks[marks.length - 1].getBoundingClientRect().bottom : 0;
    const whole = end - card.getBoundingClientRect().top < innerHeight - 120; // from the title to the words
    (whole ? card : marks[0]).scrollIntoView({ block: whole ? "start" : "center", behavior: still ? "auto" : "smooth" });
  }
  function back(card) {
    $$(".back").forEach(b => b.remove());
    const button = document.createElement("button");
    button.type = "button"; button.className = "quiet back"; button.dataset.do = "back";
    button.textContent = "Back to the sentence";
    card.append(button);
  }
  function goBack() {
    if (!lastCite || !lastCite.isConnected) return;
    lastCite.focus({ preventScroll: true });
    lastCite.scrollIntoView({ block: "center" });
  }

  // --- the quoted words beside a marker
  let tip = null;
  function showTip(link) {
    hideTip();
    if (link.title) { link.dataset.tip = link.title; link.removeAttribute("title"); }
    const card = document.getElementById(link.getAttribute("href").slice(1));
    tip = document.createElement("div");
    tip.id = "tip"; tip.setAttribute("role", "tooltip");
    const quotes = card ? $$(".quotes li", card).filter(li => numbers(link).includes(li.dataset.q)) : [];
    if (card) { const title = document.createElement("strong"); title.textContent = $("h3", card).textContent; tip.append(title); }
    quotes.forEach(li => { const p = document.createElement("p"); p.append(...[...li.cloneNode(true).childNodes]); tip.append(p); });
    if (!quotes.length) { const p = document.createElement("p"); p.textContent = link.dataset.tip || "From the bibliography."; tip.append(p); }
    document.body.append(tip);
    link.setAttribute("aria-describedby", "tip");
    const at = link.getBoundingClientRect(), box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(at.left - 20, innerWidth - box.width - 8))}px`;
    tip.style.top = `${at.top - box.height - 8 > 8 ? at.top - box.height - 8 : at.bottom + 8}px`;
  }
  function hideTip() { if (tip) { tip.remove(); tip = null; $$("a.cite[aria-describedby]").forEach(a => a.removeAttribute("aria-describedby")); } }

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

  // --- drawers
  function closeDrawers() {
    $$(".drawer").forEach(d => { d.classList.remove("open"); d.inert = true; });
    $$("[data-drawer]").forEach(b => b.setAttribute("aria-expanded", "false"));
  }
  function drawer(button) {
    const box = document.getElementById(button.dataset.drawer), open = box.classList.contains("open");
    closeDrawers();
    if (open) return;
    box.inert = false;
    box.classList.add("open");
    button.setAttribute("aria-expanded", "true");
    box.dataset.opener = button.dataset.drawer;
    setTimeout(() => { const first = $("button, input, select", box); if (first) first.focus(); }, 50);
  }

  // --- saving and copying, without the server's files
  function save(file) {
    if (!file) return;
    if (file.error) { say(file.error); return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file.text], { type: file.mime }));
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  async function copy(text) {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const box = document.createElement("textarea");
      box.value = text; document.body.append(box); box.select(); document.execCommand("copy"); box.remove();
    }
    say("Copied.");
  }
  function rename(button) {
    const form = document.createElement("form"), input = document.createElement("input"), keep = document.createElement("button");
    input.value = button.dataset.name; input.maxLength = 200; input.setAttribute("aria-label", "Name of the chat");
    keep.textContent = "Keep"; keep.className = "quiet";
    form.append(input, keep);
    form.addEventListener("submit", event => { event.preventDefault(); event.stopPropagation(); send.act({ do: "rename", chat: button.dataset.chat, name: input.value }); });
    button.closest("li").append(form);
    button.disabled = true;
    input.select();
  }

  const actions = {
    drawer,
    close: closeDrawers,
    theme: () => { localStorage.setItem(THEME, dark() ? "light" : "dark"); paint(); },
    example: b => ask(b.dataset.question),
    edit: b => {
      edit = Number(b.dataset.turn); about = null;
      chip(`Editing question ${edit + 1}; the answers from there on are replaced`);
      question().value = b.dataset.question; fit(); question().focus();
    },
    retry: b => { edit = Number(b.dataset.turn); about = null; ask($(".question h2 ~ [data-do=edit]", b.closest(".turn")).dataset.question); },
    about: b => { about = b.dataset.paper; edit = null; chip(`Only: ${b.dataset.title}`); question().focus(); },
    unchip: () => { unchip(); question().focus(); },
    stop, back: goBack,
    copy: b => { const menu = b.closest("details"); if (menu) menu.open = false; copy(b.dataset.copy); },
    export: b => { b.closest("details").open = false; send.act({ do: "export", turn: Number(b.dataset.turn), kind: b.dataset.kind }); },
    feedback: b => send.act({ do: "feedback", turn: Number(b.dataset.turn), value: b.dataset.value }),
    new: () => { if (!running) { closeDrawers(); pinned = null; send.act({ do: "new" }); question().focus(); } },
    open: b => { if (!running) { closeDrawers(); pinned = null; send.act({ do: "open", chat: b.dataset.chat }); } },
    rename,
    "export-chat": b => send.act({ do: "export-chat", chat: b.dataset.chat }),
    delete: b => {
      if (running) return;
      if (b.dataset.sure) send.act({ do: "delete", chat: b.dataset.chat });
      else { b.dataset.sure = "1"; b.textContent = "Really delete?"; setTimeout(() => { if (b.isConnected) { delete b.dataset.sure; b.textContent = "Delete"; } }, 4000); }
    },
  };

  document.addEventListener("click", event => {
    const cite = event.target.closest("a.cite");
    if (cite) { event.preventDefault(); hideTip(); follow(cite); return; }
    const button = event.target.closest("[data-do]");
    if (button && !button.disabled) { actions[button.dataset.do]?.(button); return; }
    $$("details.menu[open]").forEach(d => { if (!d.contains(event.target)) d.open = false; });
    if (!event.target.closest(".drawer, [role=listbox], .options")) closeDrawers();
  });
  document.addEventListener("submit", event => {
    if (event.target.matches(".composer")) { event.preventDefault(); ask(question().value); }
    if (event.target.matches(".word")) { event.preventDefault(); send.act({ do: "feedback", turn: Number(event.target.dataset.turn), word: event.target.elements.word.value }); say("Kept."); }
  });
  // Escape closes a list of choices first; looked at before the list has handled the key.
  let listWasOpen = false;
  document.addEventListener("keydown", event => { listWasOpen = !!event.target.matches?.("[role=combobox][aria-expanded=true]"); }, true);
  document.addEventListener("keydown", event => {
    if (event.target.id === "question" && event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); ask(event.target.value); }
    if (event.key === "Escape") {
      if (listWasOpen) return;
      if (tip) hideTip();
      else if ($(".drawer.open")) { const opener = $(`[data-drawer="${$(".drawer.open").id}"]`); closeDrawers(); opener?.focus(); }
      else if (running) stop();
      else if (event.target.closest?.("#sources")) goBack();
      else if (edit !== null || about !== null) unchip();
    }
  });
  document.addEventListener("input", event => { if (event.target.id === "question") fit(); });
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, event => { const cite = event.target.closest?.("a.cite"); if (cite) showTip(cite); });
    document.addEventListener(off, event => { if (event.target.closest?.("a.cite")) hideTip(); });
  }
  addEventListener("scroll", hideTip, true);
  // Another tab changed the chats: what this one holds is old.
  addEventListener("storage", event => {
    if (event.key !== KEY || event.newValue === null) return;
    stale = true;
  });
  function refresh() {
    if (!stale || running || document.hidden) return;
    sessionStorage.setItem(DRAFT, question().value);
    location.reload();
  }
  document.addEventListener("visibilitychange", refresh);
  addEventListener("focus", refresh);

  // --- after every change of the page
  let following = true;
  addEventListener("scroll", () => { following = innerHeight + scrollY > document.documentElement.scrollHeight - 160; });
  const watch = new MutationObserver(changes => {
    const at = name => changes.some(c => { const e = c.target.nodeType === 1 ? c.target : c.target.parentElement; return e && e.closest(name); });
    if (at("#conversation, #live, #sources")) typeset(document);
    if (changes.some(c => c.type === "childList") && at("#sources, #conversation")) showSet();
    if (at("#live")) {
      const live = $("#live .turn");
      if (live) say(live.dataset.stage);
      if (live && following) live.scrollIntoView({ block: "end" });
    }
  });
  function connect(triggers) {
    send = triggers;
    closeDrawers();
    for (const [id, name] of [["chats-drawer", "Chats"], ["settings-drawer", "Settings"]]) {
      const box = document.getElementById(id);
      box.setAttribute("role", "dialog");
      box.setAttribute("aria-label", name);
    }
    $("#talk").setAttribute("role", "main");
    $("#side").setAttribute("role", "complementary");
    $("#side").setAttribute("aria-label", "Sources");
    document.documentElement.lang = "en";
    paint();
    watch.observe($("#page"), { childList: true, subtree: true, characterData: true });
    typeset(document);
    question().value = sessionStorage.getItem(DRAFT) || "";
    sessionStorage.removeItem(DRAFT);
    fit();
    document.body.dataset.ready = "1";
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return { connect, done, save };
})();
