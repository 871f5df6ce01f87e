"""Fixtures that several files share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT.parent / "shared" / "samples"


@pytest.fixture(scope="session")
def bfcl_package():
    """BFCL's wheel, installed once into the checkout's own results folder."""
    from helpseek.bfcl.data import obtain

    return obtain(ROOT / "results" / "bfcl")


@pytest.fixture(scope="session")
def bfcl_dataset(bfcl_package):
    from helpseek.bfcl.data import load

    return load(bfcl_package)


@pytest.fixture(scope="session")
def bfcl_effects(bfcl_package):
    from helpseek.bfcl.build import effects_of
    from helpseek.bfcl.world_calls import derive

    return effects_of(derive(bfcl_package))


@pytest.fixture(scope="session")
def bfcl_index(bfcl_dataset, bfcl_effects):
    from helpseek.bfcl.build import make_index

    return make_index(bfcl_dataset, bfcl_effects)


@pytest.fixture(scope="session")
def bfcl_samples():
    """Real output directories of the field; they are not part of the project."""
    folder = SAMPLES / "bfcl"
    if not folder.is_dir():
        pytest.skip("the public BFCL samples are not on this machine")
    return folder
