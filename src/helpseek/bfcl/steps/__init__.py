"""What a model attempted in one step, whatever handler wrote it.

A step is the raw answer to one model call: a list of calls, prose, or a string that some handler would decode into
calls. Shapes are those of the BFCL handlers; where the inference log says what was decoded, the log decides.
"""

from helpseek.bfcl.steps.attempts import PROPOSAL, STRUCTURED, TEXT, Attempt, Parameters, Step
from helpseek.bfcl.steps.reading import read_step

__all__ = ["PROPOSAL", "STRUCTURED", "TEXT", "Attempt", "Parameters", "Step", "read_step"]
