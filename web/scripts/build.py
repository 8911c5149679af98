#!/usr/bin/env python3
"""Builds the dashboard in a folder of its own and embeds it: build.py WEB STAGE OUT.cpp [--must]

WEB stays as it is: several builds may use it at once. Packages are installed anew only when package-lock.json changed.
Where they cannot be had, a warning is printed and nothing is embedded, unless --must is given.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

COPIED = ["index.html", "package.json", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.ts", "src", "public", "tests"]


def copy(web, stage):
    stage.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, target = web / name, stage / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy2(source, target)


def run(command, stage):
    done = subprocess.run(command, cwd=stage, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout[-4000:], file=sys.stderr)
    return done.returncode == 0


def install(stage):
    mark = stage / "installed"
    wanted = hashlib.sha256((stage / "package-lock.json").read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == wanted and (stage / "node_modules").is_dir():
        return True
    # No scripts of packages are needed, so none is trusted.
    if not run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], stage):
        return False
    mark.write_text(wanted)
    return True


def main():
    web, stage, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    embed = [sys.executable, str(web / "scripts" / "embed.py"), str(out)]
    copy(web, stage)
    if not install(stage):
        if "--must" in sys.argv:
            sys.exit("build.py: the packages of the dashboard could not be installed")
        print("warning: no dashboard: its packages could not be installed (see above); `assay serve` will say so", file=sys.stderr)
        sys.exit(subprocess.call(embed))
    # What the sources make of it is never passed over.
    if not run(["node", "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"], stage):
        sys.exit("build.py: the dashboard could not be built")
    sys.exit(subprocess.call([*embed, str(stage / "dist")]))


main()
