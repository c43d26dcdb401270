"""The command `shootax`."""

import sys
import warnings
from typing import Any


def main() -> None:
    """Run the command line."""
    try:
        from shootax.cli.app import app
    except ImportError as error:
        sys.exit(
            f"The command line requires more packages ({error}): pip install 'shootax[cli,plots]'"
        )
    shown = warnings.formatwarning
    warnings.formatwarning = _one_line
    try:
        app()
    except ImportError as error:
        sys.exit(
            f"This command requires more packages ({error}): pip install 'shootax[cli,tables]'"
        )
    except (ValueError, RuntimeError) as error:
        sys.exit(f"shootax: {error}")
    except OSError as error:
        named = error.filename is not None or error.strerror is None
        sys.exit(f"shootax: {error if named else error.strerror}")
    finally:
        warnings.formatwarning = shown


def _one_line(message: Warning | str, *_: Any, **__: Any) -> str:
    """Format a warning for a terminal, without the source line that raised it."""
    return f"shootax: warning: {message}\n"
