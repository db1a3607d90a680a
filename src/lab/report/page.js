// Search, filters, the mark of the current section, links to copy, and explanations of glossary words.
// Without this script the page has the same content.
"use strict";

{
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);

  // Search over ids, titles and claims: in the contents, the annotated papers and the experiments.
  const search = one("#search");
  const filters = one(".filters");
  const claims = all("[data-claim]");
  const folds = all("details.more").map((fold) => [fold, fold.open]);
  const links = all(".contents ol a");
  const sections = all("section.experiment");
  const words = (node) => node.textContent.toLowerCase();
  const text = new Map([...claims, ...links, ...sections].map((node) => [node, null]));
  const textOf = (node) => {
    if (text.get(node) === null) {
      // A claim also matches the title of its experiment.
      const of = node.dataset.claim && document.getElementById(one("a.id", node).hash.slice(1));
      const head = of ? all(".eyebrow, h2", of) : [];
      const parts = node.matches("section") ? all("header, .claims", node) : [node, ...head];
      text.set(node, parts.map(words).join(" ") + " " + (node.dataset.topic ?? ""));
    }
    return text.get(node);
  };

  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = all("select", filters).filter((select) => select.value);
    const says = (node) => wanted.every((word) => textOf(node).includes(word));
    const active = wanted.length > 0 || chosen.length > 0;
    let shown = 0;
    const experiments = new Set();
    for (const claim of claims) {
      // The paper has the document, the claim the rest.
      const told = (name) => claim.dataset[name] ?? claim.closest(".paper").dataset[name];
      const fits = says(claim) && chosen.every((of) => told(of.name) === of.value);
      claim.hidden = !fits;
      if (!fits) continue;
      shown += 1;
      experiments.add(one("a.id", claim).hash.slice(1));
    }
    for (const part of all(".part")) part.hidden = active && !one("[data-claim]:not([hidden])", part);
    for (const [fold, open] of folds) {
      const some = one("[data-claim]:not([hidden])", fold);
      fold.hidden = active && !some;
      fold.open = active ? Boolean(some) : open;
    }
    const byTitle = chosen.length === 0;
    const fits = (node, id) => !active || experiments.has(id) || (byTitle && says(node));
    for (const section of sections) section.hidden = !fits(section, section.id);
    const hidden = new Set(sections.filter((of) => of.hidden).map((of) => of.id));
    for (const link of links) link.parentElement.hidden = hidden.has(link.hash.slice(1));
    for (const group of all(".contents .group")) group.hidden = !one("li:not([hidden])", group);
    const found = active ? `${shown} claims, ${sections.length - hidden.size} experiments` : "";
    one(".hits").textContent = found;
    one("output", filters).textContent = active ? `${shown} of ${claims.length} claims` : "";
  };

  if (search && filters) {
    one(".search").hidden = false;
    filters.hidden = claims.length === 0;
    search.addEventListener("input", show);
    filters.addEventListener("change", show);
    filters.addEventListener("reset", () => {
      search.value = "";
      setTimeout(show);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const first = links.find((link) => !link.parentElement.hidden);
      if (first) first.click();
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
      event.preventDefault();
      search.focus();
    });
  }

  // The target of a link must not be folded or filtered out.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.hidden || target.closest("[hidden]")) {
      filters.reset();
      search.value = "";
      show();
    }
    for (let node = target; node; node = node.parentElement) if (node.matches("details")) node.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  // Marks the section that is being read.
  const marks = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
  const places = all("main section[id], main .chapter[id]").filter((node) => marks.has(node.id));
  const seen = new Set();
  const reading = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target);
        else seen.delete(entry.target);
      }
      const current = places.filter((node) => seen.has(node)).pop();
      for (const link of all(".contents [aria-current]")) link.removeAttribute("aria-current");
      const link = current && marks.get(current.id);
      if (!link) return;
      link.setAttribute("aria-current", "true");
      const list = link.closest(".contents");
      if (list.scrollHeight <= list.clientHeight) return;
      const [of, box] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
      if (of.top < box.top || of.bottom > box.bottom) list.scrollTop += of.top - box.top - box.height / 3;
    },
    { rootMargin: "-10% 0px -75% 0px" },
  );
  for (const node of places) reading.observe(node);

  // A click on the mark behind a heading copies its address.
  for (const link of all(".permalink")) {
    link.addEventListener("click", () => {
      navigator.clipboard?.writeText(link.href).then(() => {
        link.textContent = "copied";
        setTimeout(() => (link.textContent = "#"), 1500);
      });
    });
  }

  // Words of the glossary, on hover, focus and tap.
  const tip = document.createElement("div");
  tip.className = "meaning";
  tip.id = "meaning";
  tip.role = "tooltip";
  tip.hidden = true;
  document.body.append(tip);
  let told = null;
  const tell = (link) => {
    const meaning = one("dd", document.getElementById(link.hash.slice(1)));
    tip.textContent = meaning.textContent;
    tip.hidden = false;
    const at = link.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 12);
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${at.bottom + 6 + scrollY}px`;
    link.setAttribute("aria-describedby", "meaning");
    told = link;
  };
  const hush = () => {
    tip.hidden = true;
    told?.removeAttribute("aria-describedby");
    told = null;
  };
  const coarse = matchMedia("(pointer: coarse)");
  for (const link of all("a.term")) {
    link.addEventListener("pointerenter", () => tell(link));
    link.addEventListener("pointerleave", hush);
    link.addEventListener("focus", () => tell(link));
    link.addEventListener("blur", hush);
    // The first tap explains the word, the second follows the link.
    link.addEventListener("click", (event) => {
      if (coarse.matches && link.dataset.told !== "yes") {
        event.preventDefault();
        link.dataset.told = "yes";
        tell(link);
      }
    });
  }
  addEventListener("keydown", (event) => event.key === "Escape" && hush());
}
