"""Every setting is declared once, and everything else follows from that."""

from cloakgp.cli.settings import Settings


def test_infinity_is_a_text_among_labels():
    asked = {"task": "classification", "inputs": "a", "classes": "1,inf"}
    assert Settings.gather(asked).labels == ["1", "inf"]


def test_labels_in_full_width_digits_are_strings():
    asked = {"task": "classification", "inputs": "a"}
    assert Settings.gather({**asked, "classes": "１,２"}).labels == ["１", "２"]
    assert Settings.gather({**asked, "classes": "1_0,2"}).labels == ["1_0", "2"]
