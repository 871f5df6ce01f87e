"""From a judge's section of the config to the judge, and the validation rule's entry."""

from __future__ import annotations
