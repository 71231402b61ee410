"""A server on this machine, and what it answers."""

import hashlib
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from normexp.data.files.download import Remote

BODY = bytes(range(256)) * 500
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """What it answers: path -> function of a request handler. It counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                answer = outer.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                else:
                    answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def remote(self, *paths: str, md5: str = MD5) -> Remote:
        return Remote("file.gz", tuple(f"{self.url}/{path}" for path in paths), md5)


def sends(body: bytes, promised: int | None = None, pause: float = 0) -> Answer:
    """Answer with `body`, promising another length, or pausing before the connection is closed."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(promised or len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        handler.wfile.flush()
        time.sleep(pause)

    return answer
