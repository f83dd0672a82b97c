"""Public maths of the sketch: which T to publish.

Nothing here sees private values.  Every solver is convex and returns a certificate: the relative
gap between its value and a proven bound.  A bad T costs accuracy, never privacy.
"""

from cloakgp.design.bayes import Prior, bayes
from cloakgp.design.result import Design
from cloakgp.design.total import total
from cloakgp.design.volume import volume
from cloakgp.design.worst import worst

__all__ = ["Design", "Prior", "bayes", "total", "volume", "worst"]
