#!/usr/bin/env bash
# One record per host, by Slurm. FLEET is a folder that all hosts see (default: fleet, here);
# LINEFILL is the program.
#
#   sbatch --array=0-15 --nodelist=node[01-16] docs/fleet/slurm.sh
#   linefill compare fleet/*.jsonl* --out fleet.html
#
# A full run takes twenty minutes, and so needs more time than the quick run that is the default:
#
#   sbatch --time=00:40:00 --array=0-15 --nodelist=node[01-16] docs/fleet/slurm.sh --profile full
#
# A host to itself and no memory shared: what a neighbour does would be measured, too. Two tasks of
# the array may get the same host one after the other; the second leaves its record alone.
#SBATCH --job-name=linefill
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=00:15:00
#SBATCH --output=linefill-%A-%a.log
set -euo pipefail

fleet=${FLEET:-$PWD/fleet}
linefill=${LINEFILL:-linefill}
host=$(hostname -s)
mkdir -p "$fleet"

# The folder is made by one task alone, and kept until its record is there.
run="$fleet/.$host"
if [ -e "$fleet/$host.jsonl" ] || [ -e "$fleet/$host.jsonl.gz" ] || ! mkdir "$run" 2>/dev/null; then
    echo "$host has been measured, or is being measured: see $fleet"
    exit 0
fi
trap 'rm -rf "$run"' EXIT

# What would spoil the numbers goes to the log; a warning is no reason to stop.
"$linefill" doctor || true
# Status 1 is a gate that failed, and a stopped run leaves what it measured: the record is kept.
status=0
"$linefill" run --out "$run" "$@" || status=$?
for ending in jsonl jsonl.gz; do
    [ ! -e "$run/record.$ending" ] || mv "$run/record.$ending" "$fleet/$host.$ending"
done
exit "$status"
