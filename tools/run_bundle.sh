#!/usr/bin/env bash
# Runs a program of this folder with the LibTorch of python3's torch (or of $PYTHON's):
#   ./run.sh sheaf doctor
#   ./run.sh gpu_tests --gtest_filter=*Sharding*
#   ./run.sh bench/gpu_ranks --json figures.json
#   ./run.sh bench/gpu_training --row gpt2-large-b8 --json figures.json
#   ./run.sh python3 interop/loss_curves.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
readonly PYTHON=${PYTHON:-python3}

[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' run.sh; exit 2; }
torch=$("$PYTHON" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null) ||
  { echo "run.sh: $PYTHON has no torch; PYTHON names another interpreter" >&2; exit 2; }
folders=
for folder in "$torch"/lib "$torch"/../nvidia/*/lib; do
  [ ! -d "$folder" ] || folders=$folders$folder:
done
LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH

program=$1
shift
[ ! -x "./$program" ] || program=./$program
exec "$program" "$@"
