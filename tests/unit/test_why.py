"""`helpseek why`: what a failed `snakemake` said, in one paragraph."""

import pytest

from helpseek.errors import UserError
from helpseek.why import explain


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("--nope", "unrecognized arguments: --nope"), ("--configfile=nope.yaml", "nope.yaml"), ("zzz", "zzz")],
)
def test_a_failure_of_snakemake_is_one_paragraph(argument, expected):
    with pytest.raises(UserError) as error:
        explain([argument])
    message = str(error.value)
    assert expected in message
    assert "\n" not in message
    assert "Traceback" not in message
    assert len(message) < 1200
