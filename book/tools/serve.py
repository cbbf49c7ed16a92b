"""Serve the built book on localhost: python book/tools/serve.py _build/html [port]."""

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A thread a request, and room for all that two pages ask for at once."""

    request_queue_size = 128
    daemon_threads = True


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line for each request, and never from an old cache."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def end_headers(self) -> None:
        """Ask the browser to look again, so that a rebuilt page is seen."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(folder: str, port: int = 0) -> Server:
    """Return a server for ``folder`` on localhost; port 0 takes a free one."""
    return Server(("127.0.0.1", port), partial(Quiet, directory=folder))


def main(folder: str, port: str = "8000") -> None:
    """Serve until Ctrl-C; if the port is taken, take a free one."""
    try:
        http = server(folder, int(port))
    except OSError:
        http = server(folder)
    print(f"The book is at http://127.0.0.1:{http.server_port}/  (Ctrl-C ends it)", flush=True)
    try:
        http.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main(*sys.argv[1:])
