"""Where the command line starts: nothing heavy is imported before Ctrl-C is handled.

Loading the numerical libraries takes seconds.  An interrupt during that time ends the process at
once: as an exception it could surface in the middle of any library, which might catch or print it.
"""

import gc
import os
import signal
import sys

INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def _leave(*_: object) -> None:
    os.write(2, b"error: interrupted.\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line."""
    # Whoever starts a command in the background ignores interrupts, and so does the command.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    if sys.argv[1:] == ["--version"]:
        from cloakgp._version import __version__

        print(f"cloakgp {__version__}")
        return
    if sys.argv[1:] in ([], ["--help"]):
        from cloakgp.cli.front import print_help

        print_help()
        return
    # What is loaded stays: looking for garbage among it again and again takes a sixth of the time.
    gc.disable()
    from cloakgp.cli.app import app

    gc.freeze()
    gc.enable()
    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app()
    except KeyboardInterrupt:
        os.write(2, b"error: interrupted.\n")
        sys.exit(INTERRUPTED)
    finally:
        if heeded:  # all is done: what the interpreter still tidies up may be cut short
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
