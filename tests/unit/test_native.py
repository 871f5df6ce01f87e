"""What a DRMAA job asks its scheduler for."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.cluster.native import SYSTEMS, native_specification, system_of
from helpseek.errors import UserError

LOG = ".snakemake/drmaa_logs/train/%j.log"
# What a profile gives when a site names nothing.
WORDS = "slurm_partition slurm_account gpu_partition gpu_model qos constraint".split()
NOTHING = dict.fromkeys([*WORDS, "drmaa_system", "native_extra", "nodes", "tasks"], "")
SITE = {"slurm_partition": "main", "slurm_account": "lab", "gpu_partition": "gpu", "gpu_model": "a100"}


def slurm(threads=1, **resources):
    return native_specification(NOTHING | resources, threads, LOG, system="slurm")


def sge(threads=1, **resources):
    return native_specification(NOTHING | resources, threads, LOG, system="sge")


def test_slurm_spells_everything():
    everything = SITE | {
        "runtime": 90, "mem_mb": 4000, "gpu": 2, "nodes": 1, "tasks": 2, "qos": "high", "constraint": "intel&gen3",
        "native_extra": "--reservation=night -w n[1-3]",
    }  # fmt: skip
    assert slurm(8, **everything) == (
        "-p gpu -A lab -t 1:30:00 --mem=4000 -c 8 --gres=gres:gpu:a100:2 -N 1 -n 2 --qos=high"
        f" --constraint=intel&gen3 -o {LOG} --reservation=night -w n[1-3]"
    )


def test_a_job_without_gpus_stays_off_the_gpu_partition():
    assert slurm(**SITE, gpu=0, runtime=5) == f"-p main -A lab -t 0:05:00 -c 1 -o {LOG}"


def test_gpus_without_a_gpu_partition_or_a_model():
    assert slurm(slurm_partition="main", gpu=1) == f"-p main -c 1 --gres=gres:gpu:1 -o {LOG}"


@pytest.mark.parametrize(
    ("minutes", "clock"), [(1, "0:01:00"), (59, "0:59:00"), (60, "1:00:00"), (1440, "24:00:00"), (4321, "72:01:00")]
)
def test_time_is_hours_minutes_seconds(minutes, clock):
    assert f"-t {clock} " in slurm(runtime=minutes)
    assert f"h_rt={clock} " in sge(runtime=minutes)


def test_sge_spells_everything():
    assert sge(4, runtime=30, mem_mb=2000, gpu=1, native_extra="-q long.q", **SITE) == (
        "-V -l h_rt=0:30:00,h_rss=500M,gpu=1 -pe smp 4 -o .snakemake/drmaa_logs/train/$JOB_ID.log -j y -q long.q"
    )
    assert sge() == "-V -o .snakemake/drmaa_logs/train/$JOB_ID.log -j y"
    assert "-l h_vmem=84M -pe mpi 6 " in sge(2, tasks=3, mem_mb=500, sge_memory="h_vmem", sge_pe="mpi")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("empty", [{}, NOTHING, dict.fromkeys(NOTHING), {"gpu": 0, "nodes": 0, "mem_mb": 0}])
def test_what_is_not_asked_for_is_not_written(system, empty):
    assert native_specification(empty, 1, LOG, system=system) == native_specification({}, 1, LOG, system=system)


@given(
    runtime=st.integers(1, 100_000), mem_mb=st.integers(1, 10**7), gpu=st.integers(0, 64), threads=st.integers(1, 256)
)
def test_slurm_gets_back_what_was_asked(runtime, mem_mb, gpu, threads):
    line = slurm(threads, runtime=runtime, mem_mb=mem_mb, gpu=gpu)
    hours, minutes, seconds = map(int, re.search(r"-t (\d+):(\d\d):(\d\d) ", line).groups())
    assert (hours * 60 + minutes, seconds) == (runtime, 0)
    assert f"--mem={mem_mb} -c {threads} " in line
    assert (f"--gres=gres:gpu:{gpu} " in line) == (gpu > 0)
    assert "--gpus" not in line and "--export" not in line


@given(name=st.sampled_from(WORDS), value=st.text())
def test_a_value_is_one_word_or_refused(name, value):
    try:
        line = slurm(gpu=1, **{name: value})
    except UserError as error:
        assert str(error).startswith(f"resource {name}: ")
    else:
        words = line.split()
        # gpu_partition takes the place of slurm_partition, so nothing but values may be added.
        assert len(words) == len(slurm(gpu=1, **{name: value and "x"}).split())
        if name != "constraint":
            assert shlex.split(line) == words


@given(value=st.one_of(st.text(), st.floats(), st.integers(max_value=-1), st.booleans()))
def test_a_count_is_a_whole_number_or_refused(value):
    try:
        line = slurm(gpu=value)
    except UserError as error:
        assert str(error).startswith("resource gpu: ")
    else:
        assert re.fullmatch(rf"-c 1 (--gres=gres:gpu:\d+ )?-o {LOG}", line)


@pytest.mark.parametrize("value", ["a b", "a;b", "a'b", 'a"b', "$(x)", "`x`", "a\nb", "-Q", "a>b", "\\"])
@pytest.mark.parametrize("name", WORDS)
def test_what_could_be_read_as_something_else_is_refused(name, value):
    with pytest.raises(UserError, match=f"^resource {name}: "):
        slurm(gpu=1, **{name: value})


@pytest.mark.parametrize("log", ["my logs/%j.log", "-x", "a;b", "a'b"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_an_unsafe_log_is_refused(system, log):
    with pytest.raises(UserError, match=r"^log "):
        native_specification({}, 1, log, system=system)


@pytest.mark.parametrize("value", ["a", "1.5", -1, 1.5, True, "1 2", "²"])
@pytest.mark.parametrize("name", ["gpu", "mem_mb", "runtime", "nodes", "tasks"])
def test_a_wrong_count_names_its_resource(name, value):
    with pytest.raises(UserError, match=f"^resource {name}: expected a whole number"):
        slurm(**{name: value})


@pytest.mark.parametrize("option", ["--gpus=1", "--gpus 1", "-G 1", "--export=ALL", "-t 5", "--time=5", "-o x", "a;b"])
def test_extra_options_that_slurm_drmaa_misreads_are_refused(option):
    with pytest.raises(UserError, match=r"^resource native_extra: "):
        slurm(native_extra=option)


def test_the_system_is_named_or_found():
    assert system_of(NOTHING, "SLURM 22.05.8") == "slurm"
    assert system_of(NOTHING, "SGE 8.1.9") == "sge"
    assert system_of({"drmaa_system": "slurm"}, "SGE 8.1.9") == "slurm"
    with pytest.raises(UserError, match=r"did you mean `slurm`"):
        system_of({"drmaa_system": "slrum"}, "SGE 8.1.9")
    with pytest.raises(UserError, match="'PBS Pro' is none of slurm, sge"):
        system_of({}, "PBS Pro")
