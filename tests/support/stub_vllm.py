"""A stand-in for an interpreter that has vLLM, for tests of starting and stopping a server.

It takes vLLM's command line and starts a second process, as vLLM starts its engine. The name of the
model folder decides what it does: serve, fail with a reason, or hang. It writes
the ids of both processes to `.pids` in that folder. Its counters say that a request is open while
there is a file `.open` in the folder, and each reading of them adds a character to `.readings`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Behave as the name of the model folder says."""
    flags = dict(zip(arguments, arguments[1:], strict=False))
    folder = Path(flags["--model"])
    engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (folder / ".pids").write_text(f"{os.getpid()} {engine.pid}")
    if folder.name == "broken":
        print("(EngineCore pid=7) ERROR 11-21 10:00:00 [core.py:1] ValueError: The weights are of another shape.")
        print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
        sys.exit(1)
    if folder.name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if folder.name == "slow":
        time.sleep(600)

    finished: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            from support.faults import completion, fitting_answer, send  # here: few tests ask it anything

            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            finished.append(body)
            send(self, 200, {**completion(fitting_answer(body)), "model": body["model"]})

        def do_GET(self) -> None:
            if self.path == "/metrics":
                with (folder / ".readings").open("a") as readings:
                    readings.write(".")
                counts = {"num_requests_running": (folder / ".open").exists(), "request_success_total": len(finished)}
                page = "".join(f'vllm:{name}{{engine="0"}} {float(count)}\n' for name, count in counts.items())
            else:
                page = json.dumps({"data": [{"id": flags["--served-model-name"], "owned_by": "vllm"}]})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page.encode())

    ThreadingHTTPServer(("127.0.0.1", int(flags["--port"])), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
