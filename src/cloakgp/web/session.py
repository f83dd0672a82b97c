"""Who may speak to the server: one browser, on the pages of the server itself.

A page of somebody else may make a browser send requests to this machine.  So a request must name
the server by its address (a name of others may be pointed at it), bring the cookie that the printed
link was traded for, and, if it changes anything, come from a page of the server.
"""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: What pages of ours may load: files of the server, and pictures that are inside of them.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SAFE_METHODS = ("GET", "HEAD")


def is_loopback(host: str) -> bool:
    """Tell whether an address belongs to this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class Session:
    """The keys of one server: a link that works once, and the cookie it is traded for."""

    host: str
    port: int
    key: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        """The name of the cookie: a browser sends those of all ports, so each has its own."""
        return f"cloakgp-{self.port}"

    @property
    def link(self) -> str:
        """The address to open in a browser, once."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?key={self.key}"

    def redeem(self, key: str) -> bool:
        """Tell whether a key may be traded for the cookie; it works once."""
        right = self.key is not None and secrets.compare_digest(key.encode(), self.key.encode())
        if right:
            self.key = None
        return right

    def has_token(self, token: str) -> bool:
        """Tell whether a cookie is that of this session."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def is_named_by(self, host: str) -> bool:
        """Tell whether a Host header names this server by an address of its own."""
        parts = urlsplit(f"//{host}")
        try:
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port:
            return False
        if is_loopback(self.host):
            return is_loopback(name)
        if name == self.host:
            return True
        try:  # a server on all addresses is known by any of them, but by no name
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return ipaddress.ip_address(self.host).is_unspecified


class Guard:
    """Refuses whoever may not speak to the server, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, session: Session, scheme: str = "http") -> None:
        self.app, self.session, self.scheme = app, session, scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # a socket is never opened

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(Request(scope))
        await (answer or self.app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = _only(request.headers, "host")
        if host is None or not self.session.is_named_by(host):
            return _refused(421, "This server answers to its own address only.")
        if request.method not in SAFE_METHODS:
            origin = _only(request.headers, "origin")
            if origin != f"{self.scheme}://{host}":
                return _refused(403, "This request does not come from a page of this server.")
        if self.session.has_token(request.cookies.get(self.session.cookie, "")):
            if request.url.path == "/" and "key" in request.query_params:
                return RedirectResponse("/", status_code=303)  # an address without its key
            return None
        key = request.query_params.get("key", "")
        if request.method == "GET" and request.url.path == "/" and self.session.redeem(key):
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(
                self.session.cookie, self.session.token, httponly=True, samesite="strict", path="/"
            )
            return answer
        return _refused(
            403,
            "The key is missing or was used already. Open the link that `cloakgp web` printed; it "
            "works once, in one browser. To get a new one, start `cloakgp web` again.",
        )


def _only(headers: Headers, name: str) -> str | None:
    """Return a header that is there exactly once."""
    values = headers.getlist(name)
    return values[0] if len(values) == 1 else None


def _refused(status: int, words: str) -> Response:
    return PlainTextResponse(f"{words}\n", status_code=status)
