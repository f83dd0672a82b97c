"""
A ledger for a team
===================

Three analysts share the data of 5,000 people. Each release by itself is harmless. But releases add
up, and nobody remembers what a colleague published last spring. A ledger does: it holds what each
data set has spent, refuses to exceed its cap, and records a spend *before* the noise is drawn, so
that even a crash cannot overspend. The people are made up.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from cloakgp import Ledger, PrivateGPRegressor
from cloakgp.datasets import make_heights
from cloakgp.privacy import BudgetExceeded

people = make_heights(5000)
ages, heights = people[["age"]], people["height_cm"]

# %%
# Open the budget
# ---------------
# Somebody who answers for these people decides, once, what may ever be spent on them. The cap
# cannot be raised later. A ledger for one machine is a file. For a team on several machines it is
# a schema on a PostgreSQL server, and nothing else changes::
#
#     Ledger("postgresql://alice@server/budgets")
#
folder = tempfile.TemporaryDirectory()
ledger = Ledger(Path(folder.name) / "team.ledger")
ledger.open("heights", epsilon=2.0, delta=1e-5, create=True, who="data protection officer")
print(f"{ledger.remaining('heights'):.2f} may be spent")

# %%
# Plan, look, spend
# -----------------
# A model that knows the ledger cannot forget it. Plans are free, so Anna looks at what she would
# get before she spends. The three have agreed on Gaussian noise: for one release Laplace noise is
# better, but its epsilons are simply added up.
model = PrivateGPRegressor(bounds=(40, 200), epsilon=0.6, delta=1e-5, mechanism="gaussian")
model.set_params(ledger=ledger, dataset="heights")
plan = model.plan(ages)
print(f"Anna's plan: noise of {plan.forecast_rmse:.1f} cm for epsilon = {plan.epsilon}")
model.fit(ages, heights, plan=plan)
left = [2.0, ledger.remaining("heights")]
print(f"spent: {ledger.spent('heights'):.2f}, may still be spent: {left[-1]:.2f}")

# %%
# What is left is *more* than 2 − 0.6. Gaussian releases together cost less than the sum of their
# epsilons, and the ledger has the exact total. Ben and Chloe look at it, and at what Anna has
# published, before they decide how much to spend. That is allowed: the cap holds for sizes that
# were chosen by what was seen.
for who, epsilon in (("Ben", 0.9), ("Chloe", 0.7)):
    model.set_params(epsilon=epsilon).fit(ages, heights)
    left.append(ledger.remaining("heights"))
    print(f"{who} spends {epsilon}; may still be spent: {left[-1]:.2f}")

# %%
# Refused
# -------
# Next month Anna is back and asks for more than is left. The ledger says no, and nothing is drawn.
try:
    model.set_params(epsilon=1.9).fit(ages, heights)
except BudgetExceeded as refusal:
    print(refusal)

# %%
# The picture has the budget after each step. The bars fall by less than was spent.
drawn, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
steps = ["opened", "Anna: 0.6", "Ben: 0.9", "Chloe: 0.7"]
bars = ax.bar(steps, left, color=["#6E6E6E", "#0072B2", "#0072B2", "#0072B2"], width=0.6)
ax.bar_label(bars, fmt="%.2f", padding=3)
simple = [2.0, 1.4, 0.5, 0.0]
ax.plot(steps, simple, "o--", color="#D55E00", label="if epsilons were simply added up")
ax.set(ylabel="epsilon that may still be spent", ylim=(0, 2.3))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# What an auditor may conclude
# ----------------------------
# The ledger is a chain: each entry holds the hash of the one before. Somebody who keeps the last
# hash elsewhere can tell later that nothing was rewritten.
head = ledger.verify()
for entry in ledger.history("heights"):
    what = entry.facts.get("what", "cap")
    print(f"{entry.sequence}  {entry.facts['event']:6} {what:22} {entry.hash[:16]}…")
print("nothing was rewritten" if ledger.verify(head) == head else "there are newer entries")

# %%
# What the ledger does not know is who the people are. If they are in a second data set, too, each
# of the two keeps to its own cap, and only both caps together limit what is told about a person.
# The ledger recognises a table of inputs that it has seen under another name; it cannot recognise
# a part of one.
#
# What if the next release were chosen by what is left?
# -----------------------------------------------------
# ``remaining`` is what one further release may have. Give it a little less than that, and see in a
# plan whether it is worth anything.
last = model.set_params(epsilon=round(0.99 * ledger.remaining("heights"), 2)).plan(ages)
print(f"epsilon = {last.epsilon} is left: noise of {last.forecast_rmse:.1f} cm")
folder.cleanup()
