"""The command `shootax`."""

import sys


def main() -> None:
    """Runs the command line."""
    try:
        from shootax.cli.app import app
    except ImportError as error:
        sys.exit(
            f"The command line needs more packages ({error}): pip install 'shootax[cli,plots]'"
        )
    try:
        app()
    except ImportError as error:
        sys.exit(f"This command needs more packages ({error}): pip install 'shootax[cli,tables]'")
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"shootax: {error}")
