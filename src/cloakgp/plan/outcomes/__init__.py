"""The kinds of outputs, one class for each: what is public about them and how they are told of.

No other room may ask for the name of a task to decide what to do.
"""

from cloakgp.plan.outcomes.counts import Counts
from cloakgp.plan.outcomes.labels import Labels
from cloakgp.plan.outcomes.numbers import Numbers
from cloakgp.plan.outcomes.outcome import Outcome, Said, Task

#: The kinds of outputs by the name of their task, which files and the command line use.
OUTCOMES: dict[Task, type[Outcome]] = {kind.task: kind for kind in (Numbers, Labels, Counts)}

__all__ = ["OUTCOMES", "Counts", "Labels", "Numbers", "Outcome", "Said", "Task"]
