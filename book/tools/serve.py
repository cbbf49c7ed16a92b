"""Serve the built book on localhost: python book/tools/serve.py _build/html [port]."""

import gzip
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHUNK = 4096  # bytes sent at once: 3 ms at 10 Mbit/s


class Server(ThreadingHTTPServer):
    """A server with one thread per request and a queue long enough for all the requests of two pages."""

    request_queue_size = 128
    daemon_threads = True


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without logging requests, and never from a stale cache."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def end_headers(self) -> None:
        """Ask the browser to revalidate, so that a rebuilt page is seen."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


class Isolated(Quiet):
    """The same for pages that may use several threads, which browsers grant to isolated pages alone."""

    def end_headers(self) -> None:
        """Keep other sites' windows and files out."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()


class Line:
    """A slow line: responses begin `latency` seconds late and share the bandwidth."""

    def __init__(self, megabits: float = 10, latency: float = 0.04) -> None:
        self.rate = megabits * 1e6 / 8  # bytes per second
        self.latency = latency
        self.lock = threading.Lock()
        self.free = 0.0  # the time at which everything queued so far has been sent

    def chunks(self, body: bytes) -> Iterator[bytes]:
        """Yield the parts of a response, each when the line would have delivered it."""
        time.sleep(self.latency)
        for start in range(0, len(body), CHUNK):
            chunk = body[start : start + CHUNK]
            with self.lock:
                self.free = max(self.free, time.monotonic()) + len(chunk) / self.rate
                wait = self.free - time.monotonic()
            time.sleep(max(wait, 0))
            yield chunk


class Slow(Quiet):
    """Serve files like a remote host: compressed, and over a slow line (the attribute ``line``)."""

    line = Line()

    def do_GET(self) -> None:
        """Send the compressed file; handle folders and missing files as usual."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return super().do_GET()
        body = packed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the reader may have left
            for chunk in self.line.chunks(body):
                self.wfile.write(chunk)


@lru_cache(maxsize=1000)
def packed(path: Path, changed: int) -> bytes:
    """Return a file's bytes, compressed; `changed` is its modification time, for the cache."""
    return gzip.compress(path.read_bytes())


def server(folder: str, port: int = 0, handler: type[Quiet] = Quiet) -> Server:
    """Return a server for ``folder`` on localhost; port 0 picks a free port."""
    return Server(("127.0.0.1", port), partial(handler, directory=folder))


def main(folder: str, port: str = "8000") -> None:
    """Serve until Ctrl-C; if the port is taken, use a free one."""
    try:
        http = server(folder, int(port), Isolated)
    except OSError:
        http = server(folder, handler=Isolated)
    print(f"The book is at http://127.0.0.1:{http.server_port}/  (Ctrl-C ends it)", flush=True)
    try:
        http.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main(*sys.argv[1:])
