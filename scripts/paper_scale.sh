#!/usr/bin/env bash
# Runs an experiment at the paper's scale on a CUDA GPU: bfloat16 where that is safe, channels_last, the network
# compiled, the data on the device. Stop it whenever you like; the same command continues, also elsewhere if the folder
# results/ travels.
#
#     scripts/paper_scale.sh NAME [KEY=VALUE ...]
#     scripts/paper_scale.sh salimans2016_table1 dataset.archive=cifar-10-python.tar.gz
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -lt 1 || $1 == -* || $1 == *=* ]]; then
    echo "usage: scripts/paper_scale.sh NAME [KEY=VALUE ...]   (normexp list experiments names them)" >&2
    exit 2
fi
if ! command -v normexp > /dev/null; then
    echo "paper_scale.sh: no command normexp on the PATH; activate its environment first (. .venv/bin/activate)" >&2
    exit 2
fi
if ! python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "paper_scale.sh: torch finds no CUDA GPU on this machine, and a paper's scale takes days without one;" \
        "\`normexp reproduce $1 scale=cpu\` is made for it" >&2
    exit 2
fi
exec normexp reproduce scale=paper device=cuda precision=bf16 compile=true "$@"
