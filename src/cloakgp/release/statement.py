"""The guarantee of a release in plain words, for people who are not experts.

Every figure follows from the public contents of the release; nothing here promises more than
``verify`` can check or the proofs of the trusted core show.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cloakgp.data.columns import Category
from cloakgp.data.partition import describe_partition
from cloakgp.errors import escape
from cloakgp.privacy import total_guarantee
from cloakgp.release.cells import PublishedCells, collect_cells, summed_names
from cloakgp.release.diagnostics import can_be_checked, check_fit
from cloakgp.release.meaning import (
    epsilon_and_delta,
    figures,
    relation,
    round_up,
    same_in_other_units,
)
from cloakgp.release.outputs import BEFOREHAND

if TYPE_CHECKING:
    from cloakgp.data.box import ProtectedRows
    from cloakgp.release.release import Release
    from cloakgp.release.spec import ChosenBounds

#: Cells that a statement lists, at most.
MOST_SUMS = 12
#: What a band is not of, by how a release is drawn.
SCATTER = {
    "curve": "single people scatter around it, and have intervals of their own",
    "probability": "it is of a probability, and says how many are of a class, not who",
    "rate": "single counts scatter around it, and have intervals of their own",
}
NOT_PRIVATE = "THIS RELEASE IS NOT PRIVATE"
WARNING = (
    "It was made with repeatable noise or with none, for a trial. Anybody who has it may work out "
    "single people's values. Do not publish it."
)
ONE_ROW_EACH = (
    " No owners of rows were named: each row is taken to be another person's, and somebody with "
    "several rows is protected less."
)
OVER_TIME = (
    "## Over time\n\n"
    "The figures are for this release alone. Every further release about the same people, whoever "
    "makes it, adds to what can be learnt about one of them: pure epsilons add up, and other "
    "guarantees compose to at most the sum of their epsilons and the sum of their deltas. A cap on "
    "the total is kept where all releases are counted, in the publisher's ledger; the release "
    "itself cannot know of others."
)
#: What figures say of outputs, and what that is for whole rows.
OF_ROWS = {
    "with another value for one person": "with other data of one person",
    "two possible values of one person": "two possibilities for one person",
    "equally likely values": "equally likely possibilities",
    "knows everybody else's,": "knows everybody else's rows,",
}
IN_GENERAL = (
    "- What is true of people in general. If the release shows what is usual among people with the "
    "same inputs, that says something about each of them, in the data or not."
)


def statement(release: Release) -> str:
    """Return one page of Markdown: what was published, what is protected, and how well."""
    parts = [
        "# Privacy statement" if release.private else f"# {NOT_PRIVATE}\n\n{WARNING}",
        _published(release),
        *_numbers(release),
        *([_protected(release)] if release.private else []),
        _not_protected(release),
        *([_meaning(release), OVER_TIME] if release.private else []),
        assumptions(release),
        _noise(release),
        _checking(release),
    ]
    spec = release.spec
    return spec.privacy_unit.told("\n\n".join(parts) + "\n", spec.names)


def certificate(release: Release) -> str:
    """Say how good the choice of published numbers is; a bad one would cost accuracy only."""
    spec = release.spec
    if spec.design == "cells" and not math.isfinite(release.gap):
        return "the cells were chosen by their forecast, among many ways to divide people"
    if not math.isfinite(release.gap):
        return "it is not known how far the choice of numbers to publish is from the best"
    # The gap is that of the design; what was done to it afterwards is not in it.
    before = ""
    if spec.groups is not None:
        before = "before people with several rows were allowed for, "
    elif spec.rank is not None and spec.design != "bayes":
        before = f"before the choice was cut down to {spec.rank}, "
    share = round_up(100.0 * max(release.gap, 0.0), 1)
    return f"{before}no other choice of numbers to publish was better by more than {share:g} %"


def marked(names: list[str]) -> str:
    """Return names as Markdown, to be read as a list."""
    each = [f"**{escape(name)}**" for name in names]
    return " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)


def _published(release: Release) -> str:
    outputs = release.named_targets
    count = release.published_values
    noise = "each with random noise added" if release.private else "made for a trial"
    whose = f"the private {marked(outputs)} of {release.spec.counted}"
    if (rows := release.spec.rows) is not None:
        each = marked([*release.spec.names, *outputs])
        whose = f"private rows of {each}. It was planned for {rows.people:,} rows"
    return (
        "## What was published\n\n"
        f"{count} {'number' if count == 1 else 'numbers'}, {noise}, worked out from {whose}. Every "
        "curve, map and prediction is computed from these numbers and from public facts alone, so "
        "it can be repeated any number of times at no further cost to anybody's privacy."
    )


def _protected_rows(release: Release, rows: ProtectedRows) -> str:
    inputs, outputs = release.spec.names, release.named_targets
    if rows.neighbours == "replace":
        compared = "in which a single person's rows were replaced by any others"
        number = "How many people there are is public."
    else:
        compared = "of the same data without a single person, or with one more"
        number = (
            "Whether somebody is in the data is protected, and so is how many people there are."
        )
    several = "" if rows.owned else ONE_ROW_EACH
    where, limits = escape(rows.box.describe()), limits_of(release)
    clipped = "numbers and dates outside are clipped, " if any(rows.box.ranges) else ""
    if any(isinstance(column, Category) for column in rows.box.inputs):
        clipped += "labels that are not in it count as one, "
    return (
        "## What is protected\n\n"
        f"Each person's whole row: {marked(outputs)}, and the inputs {marked(inputs)}, too. "
        f"Compare the release with one {compared}: the two can hardly be told apart, even by "
        f"somebody who knows the rows of everybody else. {number} Inputs count within a public "
        f"box that was set beforehand ({where}); {clipped}and rows without a value count nowhere. "
        f"{limits}{several}"
    )


def _numbers(release: Release) -> list[str]:
    """Say what the published numbers are, if each is a sum over a cell of people."""
    cells = [each for each in collect_cells(release) if each.step == 1]
    if not cells:
        return []
    noisy = "noisy " if release.private else ""
    squares = [line for each in cells for line in _squares(each)]
    lines = squares + [f"- {line}" for each in cells for line in _sums(each)]
    rest = len(lines) - MOST_SUMS
    if rest > 0:
        lines = [*lines[:MOST_SUMS], f"- … and {rest} more: `Release.published()` has all of them."]
    steps = len(release.parts) - len(cells)
    again = "" if steps <= 0 else " Those of the first step follow; the later ones are like them."
    return [
        "## What the numbers are\n\n"
        f"{what_cells_are(release, noisy)} Where cells share people, parts of people are counted. "
        "± is what 95 % of the noise stays within; together the numbers tell more than each by "
        f"itself.{again}\n\n" + "\n".join(lines)
    ]


def what_cells_are(release: Release, noisy: str) -> str:
    """Say what numbers are that are sums over cells."""
    start = f"Each number is a {noisy}sum over a cell: a group of people with similar inputs,"
    if release.spec.rows is None:
        return f"{start} chosen by the inputs alone."
    return (
        f"{start} chosen before anything was read. For each cell and output there is one of what "
        "people have, and one of what they lack; or one for each label. Together these are the "
        "number of its people."
    )


def _sums(cells: PublishedCells) -> list[str]:
    """Return a sentence for each cell."""
    means, stds = cells.means(per_exposure=True)
    counted = cells.spec.classes is not None
    over = "rate" if cells.exposure is not None else "mean"
    names = [f"**{escape(name)}**" for name in summed_names(cells.release)]
    found = []
    for number, (where, people) in enumerate(zip(cells.words(), cells.people, strict=True)):
        said = []
        for column, name in enumerate(names):
            total, mean = cells.sums[number, column], means[number, column]
            reach = cells.within * stds[number, column]
            if counted:
                told = f"share {plain(100.0 * mean)} % ± {plain(100.0 * reach)} %"
                said.append(f"number with {name} {plain(total)}, {told}")
            else:
                said.append(f"sum of {name} {plain(total)}, {over} {plain(mean)} ± {plain(reach)}")
        about = cells.within * cells.people_noise_std
        count = plain(people) if about == 0.0 else f"{plain(people)} ± {plain(about)}"
        found.append(f"{escape(where)} ({count} people): {'; '.join(said)}")
    return found


def _squares(cells: PublishedCells) -> list[str]:
    """Say how far outputs lie from the middle of the bounds, summed over everybody."""
    if cells.squares is None:
        return []
    each = zip(summed_names(cells.release), cells.middle, cells.squares, strict=True)
    reach = cells.within * cells.square_noise_std
    return [
        "- everybody: sum of the squared distances of "
        f"**{escape(name)}** from {plain(middle)}, the middle of the bounds, {plain(q)} "
        f"± {plain(far)}"
        for (name, middle, q), far in zip(each, reach, strict=True)
    ]


def plain(number: float) -> str:
    """Return a number as people write it: at least three digits, and none that only pretend."""
    digits = 0 if abs(number) >= 100.0 else 1 if abs(number) >= 10.0 else 2
    shown = f"{number:,.{digits}f}"
    shown = shown.rstrip("0").rstrip(".") if digits else shown
    return "0" if shown == "-0" else shown.replace("-", "−")


def _protected(release: Release) -> str:
    spec, outputs = release.spec, release.named_targets
    if spec.rows is not None:
        return _protected_rows(release, spec.rows)
    whose = f"Each person's {marked(outputs)}"
    if spec.groups is not None:
        most = int(np.bincount(np.unique(spec.groups, return_inverse=True)[1]).max())
        whose += f", in all rows of that person together (up to {most})"
        if spec.limit is not None:
            told = "so nothing is told about them"
            if (chosen := release.bounds_choice) is not None and chosen.may_have_read(spec.limit):
                told = "and had part in nothing but the choice of bounds, see below"
            whose += f"; further rows of a person were left out, {told}"
    elif len(outputs) > 1:
        whose += " together"
    return (
        "## What is protected\n\n"
        f"{whose}. Compare the release with one in which a single person's value was replaced by "
        "any other: the two can hardly be told apart, even by somebody who knows the values of "
        f"everybody else. {limits_of(release)}{'' if spec.groups is not None else ONE_ROW_EACH}"
    )


def limits_of(release: Release, where: str = "below") -> str:
    """Say what values can be; ``where`` the page tells how bounds were chosen, if they were."""
    spec = release.spec
    limits = spec.outcome.limits([escape(n) for n in release.named_targets], spec.lo, spec.hi)
    if release.bounds_choice is None:
        return limits
    return limits.replace(BEFOREHAND, f"bounds that were chosen privately, see {where}")


def _not_protected_rows(release: Release, rows: ProtectedRows) -> str:
    told = "how many rows it was planned for, a number or guess that was set beforehand"
    lines = [
        "## What is not protected",
        "",
        f"- The box of the inputs, the settings, and {told}.",
        "- Where people are and how their outputs follow from that, in general: noisy numbers of "
        "people and sums of their outputs over parts of the box are what was published.",
    ]
    if rows.neighbours == "replace":
        lines.append(
            "- How many people there are. That somebody is among them is hidden only as far as "
            "other rows might stand in the place of theirs."
        )
    lines.append(IN_GENERAL)
    if release.private:
        lines.append("- Other releases about the same people: their costs add up.")
    return "\n".join(lines)


def _not_protected(release: Release) -> str:
    if release.spec.rows is not None:
        return _not_protected_rows(release, release.spec.rows)
    inputs, partition = release.spec.names, release.spec.partition
    stored = "stored in the release as they are"
    if partition is not None:
        stored = f"the release tells how many rows are near each of {len(partition.counts)} places"
    lines = [
        "## What is not protected",
        "",
        f"- The inputs ({marked(inputs)}): they are public{' and' if partition is None else ';'} "
        f"{stored}.",
        "- Who is in the data, and how many people there are.",
    ]
    lines += [f"- {sentence}" for sentence in release.spec.outcome.also_public]
    if release.spec.groups is not None:
        lines.append("- Which rows belong to the same person.")
    if release.spec.limit is not None:
        lines.append(f"- {rows_left_out(release)}")
    lines.append(IN_GENERAL)
    if release.private:
        lines.append("- Other releases about the same people: their costs add up.")
    return "\n".join(lines)


def rows_left_out(release: Release, of: str = "") -> str:
    """Say which rows count and how they were chosen; ``of`` says of which release."""
    limit, chosen = release.spec.limit, release.bounds_choice
    assert limit is not None
    rows = "row" if limit.max_rows == 1 else "rows"
    but = ""
    if chosen is not None and chosen.may_have_read(limit):
        but = ", except that the choice of bounds, which came before, may have counted them"
    return (
        f"Which rows{of} were left out: at most {limit.max_rows} {rows} of each person count, and "
        f"{limit.left_out} others were not read{but}. They were chosen by a hash of public facts "
        "(the inputs of a row and the number of its owner), not by their private values."
    )


def _meaning(release: Release) -> str:
    epsilon, delta = release.epsilon, release.delta
    sigma = None
    if release.noisy.mechanism == "gaussian":
        # Parts of a budget have √k times the noise, and together tell as much as one without that.
        sigma = release.noisy.sigma / math.sqrt(release.noisy.parts)
    rows = release.spec.rows
    what = "replacing one person's private values" if rows is None else relation(rows)
    words = figures(epsilon, delta, sigma)
    if rows is not None:
        for usual, instead in OF_ROWS.items():
            words = words.replace(usual, instead)
    if rows is not None and rows.neighbours == "add-remove":
        words = words.replace(
            "with other data of one person", "without one person, or with one more"
        )
        twice = "twice the epsilon"
        if sigma:  # of Gaussian noise, twice the epsilon might not do for the same delta
            twice = epsilon_and_delta(total_guarantee(release.spends, delta), delta)
        words += (
            "\n- The two possibilities are that the person is in the data with a certain row, or "
            f"is not. For two different rows of a person they hold with {twice}."
        )
    return (
        "## What the figures mean\n\n"
        f"The release is differentially private with {epsilon_and_delta(epsilon, delta)}, "
        f"for {what}:\n\n{words}\n\n{same_in_other_units(release)}"
    )


def among(chosen: ChosenBounds) -> str:
    """Say what bounds were chosen from."""
    grid = chosen.grid
    return f"among {len(grid)} public candidates from {grid[0]:g} to {grid[-1]:g}"


def _bounds(release: Release) -> str:
    """Say how the bounds were chosen, if privately, and what that cost."""
    chosen = release.bounds_choice
    if chosen is None:
        return ""
    how = among(chosen)
    if not release.private:
        return (
            f"\n\nThe bounds were chosen {how} for a trial, too: that choice is not private either."
        )
    asked, aimed = (
        f"{100 * q[0]:.3g} % and {100 * q[1]:.3g} %" for q in (chosen.quantiles, chosen.aimed)
    )
    stretched = ""
    if aimed != asked:
        stretched = f" (found at {aimed} and stretched from there as for a bell curve)"
    also = "" if release.selection is None else ", the choice of settings"
    return (
        f"\n\nThe bounds were chosen {how}, privately, by how many values lie beyond each "
        f"(exponential mechanism, one choice for each bound), to hold the values between the "
        f"quantiles {asked}{stretched}. That cost epsilon = {chosen.epsilon:g} by itself; the "
        f"choice of bounds{also} and the release together are differentially private with epsilon "
        f"= {round_up(chosen.total_epsilon, 4):g} and delta = {release.delta:g}"
        f"{rows_counted(release)}. The figures above are those of the release alone."
    )


def rows_counted(release: Release) -> str:
    """Say for whom the cost of chosen bounds holds, if people own several rows."""
    chosen, spec = release.bounds_choice, release.spec
    if chosen is None or spec.groups is None:
        return ""
    if chosen.most_rows is None:
        return (
            ", for people with one row; the file does not say how many rows of one person the "
            "choice allowed for, so that more is not known to be protected"
        )
    rows = "row" if chosen.most_rows == 1 else "rows"
    return f", for people with up to {chosen.most_rows} {rows} when the bounds were chosen"


def _choice(release: Release) -> str:
    """Say what a private choice of settings cost beside the release."""
    chosen = release.selection
    if chosen is None:
        return ""
    if not release.private:
        return (
            f"\n\nThe settings of the model were chosen among {chosen.candidates} for a trial, "
            "too: that choice is not private either."
        )
    return (
        f"\n\nThe settings of the model were chosen among {chosen.candidates}, privately, by how "
        f"well they predict ({escape(chosen.loss)} error, mechanism: {escape(chosen.mechanism)}). "
        f"That cost epsilon = {chosen.epsilon:g} by itself; the choice and the release together "
        f"are differentially private with epsilon = {round_up(chosen.total_epsilon, 4):g} and "
        f"delta = {release.delta:g}. The figures above are those of the release alone."
    )


def _noise(release: Release) -> str:
    noisy = release.noisy
    if math.isinf(noisy.epsilon):
        drawn = "No noise was added."
    elif not release.private:
        drawn = "The noise came from a repeatable source, so it can be removed again."
    else:
        unit = "1" if noisy.sensitivity == 1.0 else f"{noisy.sensitivity:.4g}"
        steps = f" of each of the {noisy.parts} steps" if noisy.parts > 1 else ""
        measured = "in sum" if noisy.mechanism == "laplace" else "together"
        how = ""
        if noisy.mechanism == "gaussian":
            how = f" (calibration: {escape(noisy.calibration)})"
        drawn = (
            f"Each number has discrete {noisy.mechanism.capitalize()} noise added, with standard "
            f"deviation {noisy.noise_std:.4g}, drawn once by the OpenDP library in exact integer "
            f"arithmetic. One person can move all the numbers{steps} {measured} by at most "
            f"{unit}{how}."
        )
    how = "The certificate" if math.isfinite(release.gap) else "How the numbers were chosen"
    return (
        "## How it was made\n\n"
        f"{drawn}\n\n{how}: {certificate(release)} (design: "
        f"{escape(release.spec.design)}; {escape(release.status)}). A worse choice would have "
        f"cost accuracy, not privacy.{_bounds(release)}{_choice(release)}"
    )


def assumptions(release: Release) -> str:
    """Say what predictions assume, and whether the published numbers agree with that."""
    family = release.spec.family
    if family is None:
        prior = "Predictions use one prior, fixed beforehand."
    else:
        prior = (
            f"Predictions average over {len(family.settings)} public priors, from smooth to rough; "
            "each counts by how well it explains the published numbers, which costs no privacy."
        )
    spec = release.spec
    if spec.rows is not None:
        prior += (
            " Where people are is estimated from noisy numbers of people by a smooth density, and "
            "how uncertain that is counts in the bands."
        )
    if spec.partition is not None:
        names = [escape(name) for name in spec.encoding.model_names]
        prior += f" {describe_partition(spec.partition, names)}."
    fit = f" {check_fit(release).sentence}" if can_be_checked(release) else ""
    return (
        f"## What predictions assume\n\n{prior} A 95 % band is for the curve that people share, if "
        f"it is like what the prior expects; {SCATTER[spec.outcome.picture]}.{fit}"
    )


def _checking(release: Release) -> str:
    data, told = "", "the inputs"
    if release.spec.rows is not None:
        data = "The inputs are private: with `--inputs` there is nothing to compare. "
        told = "the box of the inputs"
    if release.spec.partition is not None:
        data = (
            "With `--inputs` and the data it also finds everybody's place again, and compares how "
            "many people are at each. "
        )
    return (
        "## How to check it\n\n"
        "Run `cloakgp verify release.cloakgp`. It works out again, from the file alone, how far "
        f"one person can move the numbers and how much noise that takes. {data}It cannot see "
        "whether the noise was really drawn afresh and thrown away, nor who made the file: for "
        f"{told}, the bounds and that this is private you have only the publisher's word.\n\n"
        "Signature not checked: this statement says nothing about who published the release. If "
        "`release.cloakgp.sig` lies beside it, `cloakgp verify release.cloakgp --key office.pub` "
        "tells whether the owner of that key signed it. Get the key from the publisher by another "
        "way than the release.\n\n"
        f"Release {escape(release.release_id)}, made {escape(release.created)} with cloakgp "
        f"{escape(release.version)}."
    )
