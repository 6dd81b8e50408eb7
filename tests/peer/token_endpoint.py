"""The token endpoint of an authorization server on this host: clients that log in by HTTP get a token for their id and
secret (RFC 6749, section 4.4, as KIP-768 and librdkafka's ``oidc`` ask for it)."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Callable
from urllib.parse import parse_qs

CLIENT_ID, CLIENT_SECRET = "app", "the secret of app"


class TokenEndpoint:
    """Answers with the result of ``token``; ``agents`` are the programs that got one."""

    def __init__(self, token: Callable[[], str]) -> None:
        self.agents: list[str] = []
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                wanted = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
                is_right = self.headers["authorization"] == f"Basic {wanted}"
                if not is_right or form.get("grant_type") != ["client_credentials"]:
                    self.send_error(401)
                    return
                endpoint.agents.append(self.headers.get("user-agent", ""))
                body = json.dumps({"access_token": token(), "token_type": "Bearer", "expires_in": 600}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
