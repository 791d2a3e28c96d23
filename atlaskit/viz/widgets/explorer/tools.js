// What the explorer's page does with a picture: play a clip, save, copy the time, go to a time.
const MIN_REGION_S = 1; // of a shown frame or a shorter cell, the region is a grid above it

// The interval of the cell, or of what is shown, or of the smallest grid above it that is at least a second long.
function regionOf({ span_s: shown, crumbs, cells }, cell) {
  const side = (shown[1] - shown[0]) / cells.length, from = shown[0] + side * cell;
  const spans = [...crumbs.map((crumb) => crumb.span_s), shown, ...(cells[cell] ? [[from, from + side]] : [])];
  return spans.findLast(([start, end]) => end - start >= MIN_REGION_S) ?? spans[0];
}

// A clip over the image, with its sound, repeating.
class ClipPlayer {
  constructor(onClose) {
    this.onClose = onClose;
    this.video = element("video", { controls: true, loop: true, playsinline: true });
    this.words = element("p", {});
    this.box = element("div", { class: "clip", role: "group", "aria-label": "clip", hidden: true },
      this.video, this.words, button("close clip", { "aria-keyshortcuts": "Escape" }, () => this.close()));
  }

  get isOpen() {
    return !this.box.hidden;
  }

  show(webm, words) {
    this.release();
    this.video.src = URL.createObjectURL(new Blob([webm], { type: "video/webm" }));
    this.words.textContent = words;
    this.box.hidden = false;
    this.video.play().catch(() => {}); // a browser that refuses shows its controls
    this.box.querySelector("button").focus();
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.box.contains(document.activeElement);
    this.release();
    this.box.hidden = true;
    if (hadFocus) this.onClose();
  }

  release() {
    if (this.video.src) URL.revokeObjectURL(this.video.src);
    this.video.removeAttribute("src");
    this.video.load();
  }
}

// A field for a time that people type.
class TimeField {
  constructor(onTime) {
    this.field = element("input", { type: "text", size: 9, autocomplete: "off", spellcheck: "false",
      placeholder: "1:02:03.5", "aria-keyshortcuts": "T" });
    this.box = element("form", { class: "goto" }, element("label", {}, "go to time ", this.field));
    this.box.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.field.value.trim()) onTime(this.field.value);
    });
    this.field.addEventListener("input", () => this.accept());
    // What is typed next replaces what stands there. A click places the cursor after the focus, so it selects later.
    this.field.addEventListener("focus", () => setTimeout(() => this.field.select()));
  }

  focus() {
    this.field.focus();
    this.field.select(); // it may have the focus already
  }

  refuse() {
    this.field.setAttribute("aria-invalid", "true");
    this.focus();
  }

  accept() {
    this.field.removeAttribute("aria-invalid");
  }
}

// Copies a text; where the browser does not allow that, shows it selected in a field.
async function copyText(text, notice) {
  try {
    await navigator.clipboard.writeText(text);
    notice.textContent = `Copied ${text}.`;
  } catch {
    const field = element("input", { type: "text", readonly: true, value: text, "aria-label": "text to copy" });
    notice.replaceChildren("The browser does not let this page copy; copy it from here: ", field);
    field.focus();
    field.select();
  }
}
