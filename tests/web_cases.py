"""What somebody fills in on the pages for the people of ``command_line``; pages that are served."""

import contextlib
import threading

import uvicorn

from cloakgp.web.server import listen, open_session

HOST = "127.0.0.1:8000"
ORIGIN = {"origin": f"http://{HOST}"}
FORM = {
    "task": "regression",
    "inputs": "age",
    "output": "height",
    "low": "40",
    "high": "200",
    "epsilon": "1",
    "delta": "1e-5",
    "kernel": "900*RBF(20)",
    "design": "bayes",
    "decimal": ".",
}


@contextlib.contextmanager
def served(make):
    """Serve an application on this machine, in a thread; gives the link to open."""
    listening = listen("127.0.0.1", 0)
    session = open_session(listening, "127.0.0.1")
    config = uvicorn.Config(make(session), log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield session.link
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
