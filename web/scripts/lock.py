#!/usr/bin/env python3
"""Makes package-lock.json anew from package.json: for every platform, and without the addresses of a registry."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

web = Path(__file__).resolve().parent.parent
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(web / "package.json", folder)
    subprocess.run(["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
    lock = json.loads((Path(folder) / "package-lock.json").read_text())
for package in lock["packages"].values():
    package.pop("resolved", None)
    package.pop("funding", None)
(web / "package-lock.json").write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
