"""
Signing and verifying
=====================

A school board publishes a curve, and six months later three versions of the file are in
circulation. Each of them agrees with itself, which anybody can check. Which one did the board
make? A signature with the board's SSH key settles that. ``ssh-keygen`` makes it, so keys in agents
and hardware keys will do, and cloakgp never opens the key.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cloakgp import PrivateGPRegressor, Release
from cloakgp.datasets import make_heights

pupils = make_heights(20_000).query("5 <= age <= 20")
ages, heights = pupils[["age"]], pupils["height_cm"]
folder = tempfile.TemporaryDirectory()
file, board = Path(folder.name) / "heights.cloakgp", Path(folder.name) / "board"

# %%
# The plan and the release
# ------------------------
# As always: public bounds, a plan, one spend. Nothing about signing touches the guarantee.
model = PrivateGPRegressor(bounds=(60, 210), epsilon=1.0)
plan = model.plan(ages)
print(f"{len(ages)} pupils; privacy would add {plan.forecast_rmse:.1f} cm to the error, typically")
model.fit(ages, heights, plan=plan).release_.save(file)

# %%
model.release_.plot()

# %%
# Sign
# ----
# The signature is a file of its own, beside the release. The key is made here for the occasion; the
# board would use one that it has, and publish its public half on its web page.
signing = shutil.which("ssh-keygen") is not None
if signing:
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "board", "-f", str(board)]
    subprocess.run(make, check=True)
    sign = [sys.executable, "-m", "cloakgp", "sign", str(file), "--key", str(board)]
    subprocess.run(sign, check=True, capture_output=True)
    print("$ cloakgp sign heights.cloakgp --key board")
    print(*sorted(path.name for path in Path(folder.name).iterdir()))
else:
    print("ssh-keygen is not installed here, so nothing is signed; it comes with OpenSSH")

# %%
# Verify
# ------
# Readers need the public key, and have to get it from somewhere else than the release: a key that
# comes with a forged file is forged as well. They need no ssh, but ``pip install 'cloakgp[sign]'``.
# The report keeps two questions apart. Does the guarantee follow from the file? And who made it?
signature, key = Path(f"{file}.sig"), Path(f"{board}.pub")
release = Release.load(file)
report = release.verify(signature=signature, key=key) if signing else release.verify()
print("the guarantee holds:", report.holds)
print("who made it:", str(report.signature).replace(f"{folder.name}{os.sep}", ""))

# %%
# What a reader may conclude
# --------------------------
# The owner of that key signed this very file, down to the last digit. So its numbers are those that
# the board wanted to publish. What no signature shows is that the board was honest: that the
# heights are those of its pupils, and the noise was drawn and thrown away. For that a reader has
# the board's word, and now knows that it *is* the board's word.
#
# What if the file was exchanged on the way?
# ------------------------------------------
# Somebody puts another release, of teachers, under the same name beside the board's signature.
# Everything in the new file is consistent, so its guarantee holds. The signature does not.
teachers = make_heights(500, random_state=1).query("25 <= age <= 65")
model.fit(teachers[["age"]], teachers["height_cm"]).release_.save(file)
if signing:
    report = Release.load(file).verify(signature=signature, key=key)
    print("the guarantee holds:", report.holds)
    print("who made it:", str(report.signature).replace(f"{folder.name}{os.sep}", ""))
    print("to be trusted:", report.ok)
folder.cleanup()
