"""The command in this process."""

from command import shootax as shootax
