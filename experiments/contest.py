"""Print the mean error of every method on every data set, with its standard error over releases.

    python -m experiments.contest [--quick] [--data WORDS …] [--methods WORDS …] [--epsilon E …]
        [--splits 1] [--releases 5]

Names are found by words in them.  Nothing is stored; docs/results come from the items.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from experiments import compare
from experiments.item import Run
from experiments.items import compare_classification, compare_regression


def main(words: list[str] | None = None) -> int:
    options = parse(words)
    run = Run(options.quick, Path(tempfile.mkdtemp()))
    for item in (compare_regression, compare_classification):
        methods = [m for m in item.methods(options.quick) if _named(m.name, options.methods)]
        effort = item.EFFORT[options.quick]
        splits, draws = options.splits or effort["splits"], options.releases or effort["draws"]
        epsilons = tuple(options.epsilon) or effort.get("epsilons", compare.EPSILONS)
        for data in (d for d in item.data_sets(run) if _named(d.name, options.data)):
            print(f"\n{data.name}: {len(data.y)} people, {splits} splits, {draws} releases")
            for method in (m for m in methods if m.can(data)):
                if (why := method.check()) is not None:
                    print(f"  {method.name:36} could not be run: {why}")
                    continue
                found = compare.summary(
                    compare.run_all(
                        run,
                        [data],
                        [method],
                        epsilons,
                        splits=splits,
                        draws=draws,
                        slow_draws=draws,
                    )
                )
                cells = [
                    f"ε = {epsilon:g}: {row.error:.4g} ± {row.std_error:.2g}"
                    + (f" ({row.setting})" if row.setting else "")
                    for (_, _, epsilon), row in zip(found.index, found.itertuples(), strict=True)
                ]
                print(f"  {method.name:36} {'; '.join(cells)}", flush=True)
    return 0


def _named(name: str, words: list[str]) -> bool:
    return not words or any(word.lower() in name.lower() for word in words)


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.contest", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few people, variants and budgets")
    parser.add_argument("--data", nargs="+", default=[], metavar="WORDS", help="these data sets")
    parser.add_argument("--methods", nargs="+", default=[], metavar="WORDS", help="these methods")
    parser.add_argument("--epsilon", nargs="+", type=float, default=[], help="these budgets")
    parser.add_argument("--splits", type=int, default=0, help="splits into training and testing")
    parser.add_argument("--releases", type=int, default=0, help="releases of each split")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
