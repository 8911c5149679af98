"""Builds the program and the engine with a release of Debian's own compiler and libraries: `builds_test.py SUITE`.

What the set-up installs there, the build as a newcomer's, and that both programs start. Opt-in, since the first time takes
a quarter of an hour and hundreds of megabytes: ./test.sh --label distributions. Skips itself, with the reason, where there
can be no container. Prints GoogleTest's lines, which scripts/checks.py counts.
"""

import os
import sys
import tempfile
from pathlib import Path

import container

SOURCE = Path(__file__).resolve().parent.parent.parent
SETUP_DEADLINE_S = 1200
BUILD_DEADLINE_S = 2400
# As scripts/steps.py builds for the demo, but not optimised, since nothing is measured here.
BUILD = """set -e
cd /source
export CCACHE_DIR=/ccache
cmake --preset release -B /shared/build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DASSAY_BUILD_BENCH=OFF >/dev/null
cmake --build /shared/build --target assay assay-engine
/shared/build/bin/assay version
/shared/build/bin/assay-engine version
"""


def main():
    suite = sys.argv[1]
    name = f"Distributions.Builds_{suite}"
    print(f"[ RUN      ] {name}", flush=True)
    try:
        hooks = ("--components=main", f"--customize-hook=copy-in {SOURCE / 'scripts/setup.sh'} /tmp",
                 "--customize-hook=chroot \"$1\" bash /tmp/setup.sh --build-only")
        root = container.root_of(suite, "-build", hooks, SETUP_DEADLINE_S)
    except container.Unavailable as why:
        print(f"{__file__}: Skipped\n{why}\n[  SKIPPED ] {name} (0 ms)")
        return 77
    cache = Path(os.environ.get("CCACHE_DIR") or Path.home() / ".cache/ccache")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-builds-", dir="/var/tmp") as folder:
        status, said = container.run_without_systemd(root, Path(folder), BUILD, BUILD_DEADLINE_S,
                                                     f"--bind-ro={SOURCE}:/source", f"--bind={cache}:/ccache")
    print(said[-20000:])
    print(f"[{'  FAILED  ' if status else '       OK '}] {name}")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
