// What the page does by itself: asking, drawers, chats. Following markers is in sources.js; the rest is the server's.
window.rag = (() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const KEY = "rag-assistant-chats", THEME = "rag-assistant-theme", DRAFT = "rag-assistant-draft";
  let send = null, running = false, edit = null, about = null, stale = false;
  const sources = window.ragSources;

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
    sources.latest(edit);
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
    if (last && $(".trouble", last)) { say("That didn’t work."); return; }
    const status = last && $(".status, .note", last);
    say(status ? status.textContent : `The answer is ready, with ${count} source${count === 1 ? "" : "s"}.`);
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
    $$("#filters input", box).forEach(input => { input.placeholder = "Any"; });
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
    stop, back: sources.goBack,
    copy: b => { const menu = b.closest("details"); if (menu) menu.open = false; copy(b.dataset.copy); },
    export: b => { b.closest("details").open = false; send.act({ do: "export", turn: Number(b.dataset.turn), kind: b.dataset.kind }); },
    feedback: b => send.act({ do: "feedback", turn: Number(b.dataset.turn), value: b.dataset.value }),
    new: () => { if (!running) { closeDrawers(); sources.latest(0); send.act({ do: "new" }); question().focus(); } },
    open: b => { if (!running) { closeDrawers(); sources.latest(0); send.act({ do: "open", chat: b.dataset.chat }); } },
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
    if (cite) { event.preventDefault(); sources.follow(cite); return; }
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
      if (sources.hideTip()) return;
      if ($(".drawer.open")) { const opener = $(`[data-drawer="${$(".drawer.open").id}"]`); closeDrawers(); opener?.focus(); }
      else if (running) stop();
      else if (event.target.closest?.("#sources")) sources.goBack();
      else if (edit !== null || about !== null) unchip();
    }
  });
  document.addEventListener("input", event => { if (event.target.id === "question") fit(); });
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
    if (at("#conversation, #live, #sources")) sources.typeset(document);
    if (changes.some(c => c.type === "childList") && at("#sources, #conversation, #live")) sources.restore();
    if (at("#live")) {
      const live = $("#live .turn");
      if (live && !running) { live.remove(); return; } // what was on its way when the visitor stopped it
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
    sources.typeset(document);
    sources.restore();
    question().value = sessionStorage.getItem(DRAFT) || "";
    sessionStorage.removeItem(DRAFT);
    fit();
    document.body.dataset.ready = "1";
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return { connect, done, save };
})();
