"""What somebody fills in on the pages for the people of ``command_line``."""

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
