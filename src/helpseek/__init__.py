"""helpseek: measure, train and guard knowing when to ask a human."""

import os

__version__ = "0.1.0"

# mini-swe-agent prints a banner on import unless told not to.
os.environ.setdefault("MSWEA_SILENT_STARTUP", "1")
