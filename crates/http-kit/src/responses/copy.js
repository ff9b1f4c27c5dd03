// Adds a button that copies to each block of code, and to each field marked with `data-copy`.
"use strict";

(() => {
  function addButton(source) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "second copy";
    button.textContent = "Copy";
    const outcome = document.createElement("span");
    outcome.className = "copied";
    outcome.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.value ?? source.textContent);
        outcome.textContent = "Copied";
      } catch {
        outcome.textContent = "Not copied: select the text, and copy it";
      }
    });
    source.after(button, outcome);
    // A field stays where it is, because a moved field loses the focus.
    if (source.matches("pre")) {
      const box = document.createElement("div");
      box.className = "copyable";
      source.before(box);
      box.append(source, button, outcome);
    }
  }

  // Browsers have a clipboard only on secure connections and on the same machine.
  if (navigator.clipboard) {
    document.querySelectorAll("pre, [data-copy]").forEach(addButton);
  }
})();
