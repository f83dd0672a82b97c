"""``PrivacyUnit``: whom a guarantee protects, in a word: a person, unless somebody says a home.

Sentences are written about people and put into other words at the end, where they leave; what
others have named, such as columns, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from cloakgp.errors import ParameterError, brief

#: Letters of a word, at most.
LONGEST_WORD = 40
_WORD = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")
#: What others have named: bold or as code.
_NAMED = r"\*\*.*?\*\*|`[^`]*`"
#: What is said of people, and of others; sentences are like those of plans and statements.
_PHRASES = (
    (r"who is in which", "which {many} are in which"),
    (r"who is in the data", "which {many} are in the data"),
    (r"whether somebody is in", "whether {a} is in"),
    (r"whoever is in", "{a} that is in"),
    (r"somebody with several rows", "{a} with several rows"),
    (r"everybody else's", "all other {many_s}"),
    (r"everybody else(?! sees)", "all other {many}"),
    (r"everybody's", "each {one}'s"),
    (r"everybody at", "each {one} at"),
    (r"everybody", "all {many}"),
    (r"nobody", "no {one}"),
    (r"anybody's", "any {one}'s"),
    (r"people's", "{many_s}"),
    (r"people who", "{many} that"),
    (r"people whose", "{many} whose"),
    (r"people", "{many}"),
    (r"a person who", "{a} that"),
    (r"a person", "{a}"),
    (r"person", "{one}"),
)


class PrivacyUnit(NamedTuple):
    """Whom a guarantee protects, as one and as many."""

    one: str = "person"
    many: str = "people"

    @classmethod
    def of(cls, unit: Any) -> PrivacyUnit:
        """Return what is called so: one word, or one and its plural.

        Parameters
        ----------
        unit : str or pair of str
            Such as "home", or ("Haus", "Häuser").
        """
        words = (unit,) if isinstance(unit, str) else tuple(unit) if _several(unit) else ()
        if len(words) not in (1, 2) or not all(map(_is_word, words)):
            raise ParameterError(
                "{unit} must be a word for those who are protected, such as 'home', or a word and "
                "its plural, got {}",
                brief(repr(unit)),
            )
        return cls(*words) if len(words) == 2 else cls(words[0], _plural(words[0]))

    def told(self, text: str, names: Iterable[str] = ()) -> str:
        """Return sentences about people as sentences about these.

        Parameters
        ----------
        text : str
            Sentences; what is bold or code in them stays.
        names : iterable of str
            What else stays as it is.
        """
        if self == PERSON:
            return text
        kept = [re.escape(name) for name in names if _ANY.search(name)]
        parts = re.split(f"({'|'.join([_NAMED, *kept])})", text)
        return "".join(
            part if place % 2 else _ANY.sub(self._other, part) for place, part in enumerate(parts)
        )

    def _other(self, found: re.Match[str]) -> str:
        phrase = next(words for at, (_, words) in enumerate(_PHRASES) if found[f"p{at}"])
        article = "an" if self.one[0].lower() in "aeiou" else "a"
        owned = f"{self.many}'" if self.many.endswith("s") else f"{self.many}'s"
        told = phrase.format(one=self.one, many=self.many, many_s=owned, a=f"{article} {self.one}")
        return told[0].upper() + told[1:] if found[0][0].isupper() else told


#: One alternative for each phrase, the longer ones first.
_ANY = re.compile(
    r"\b(?:" + "|".join(f"(?P<p{at}>{said})" for at, (said, _) in enumerate(_PHRASES)) + r")\b",
    re.IGNORECASE,
)
PERSON = PrivacyUnit()


def _several(unit: Any) -> bool:
    return isinstance(unit, list | tuple)


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and len(word) <= LONGEST_WORD and bool(_WORD.fullmatch(word))


def _plural(word: str) -> str:
    """Return the plural of an English word, as long as it is a plain one."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


_IRREGULAR = {"person": "people", "child": "children", "woman": "women", "man": "men"}
