// Starts the page of a widget outside a notebook: a WebSocket takes the place of the kernel.
import page from "./page.js";

const STOPPED = "atlaskit has stopped. Start it again in the terminal, and open the address that it prints.";

// What a widget's page uses of a notebook's model.
class Model {
  constructor(address) {
    this.isPage = true; // the widget has the window, and the address, for itself
    this.handlers = { "msg:custom": new Set(), comm_live_update: new Set() };
    this.waiting = []; // messages until the connection is open
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => this.waiting.splice(0).forEach((text) => this.socket.send(text)));
    this.socket.addEventListener("message", ({ data }) => this.emit("msg:custom", ...unpacked(data)));
    this.socket.addEventListener("close", () => this.emit("comm_live_update"));
  }

  on(name, handler) {
    this.handlers[name]?.add(handler);
  }

  off(name, handler) {
    this.handlers[name]?.delete(handler);
  }

  emit(name, ...values) {
    for (const handler of this.handlers[name]) handler(...values);
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.socket.readyState === WebSocket.CONNECTING) this.waiting.push(text);
    else if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else throw new Error(STOPPED);
  }
}

// The message and the buffers of a frame; `standalone.py` packs them.
function unpacked(data) {
  const length = new DataView(data).getUint32(0);
  const { message, sizes } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  let offset = 4 + length;
  const buffers = sizes.map((size) => {
    const buffer = new DataView(data, offset, size);
    offset += size;
    return buffer;
  });
  return [message, buffers];
}

const state = document.getElementById("state");

function tell(words) {
  state.textContent = words;
  state.setAttribute("role", "alert");
  state.hidden = false;
}

function stop() {
  document.body.classList.add("stopped"); // hides the widget's own sentence, which is about kernels
  tell(STOPPED);
}

// Lets keys work at once: focuses the grid as soon as it is shown, unless something has the focus.
function focusStage() {
  if (document.activeElement !== document.body) return;
  document.querySelector(".stage")?.focus({ preventScroll: true });
  requestAnimationFrame(focusStage); // in the frame in which the stage appears, so that no key is lost
}

history.replaceState(null, "", location.pathname + location.hash); // the token is a cookie by now
const model = new Model(`ws://${location.host}${location.pathname}socket`);
// Until the first picture, the widget shows nothing, not even what went wrong.
model.on("msg:custom", ({ is, words }) => {
  if (is === "picture" && !state.hidden) focusStage();
  if (is === "picture" || is === "table") state.hidden = true;
  else if (is === "trouble" && !state.hidden) tell(words);
});
model.on("comm_live_update", stop);
page.render({ model, el: document.getElementById("page") });
