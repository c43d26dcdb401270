"""The command line, from the program itself: a line `{{ commands }}` becomes its help."""

import inspect


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Writes the commands into the page that asks for them."""
    if "{{ commands }}" not in markdown:
        return markdown
    return markdown.replace("{{ commands }}", _commands())


def _commands() -> str:
    import typer.main

    from shootax.cli.app import app

    group = typer.main.get_command(app)
    parts = []
    for name, command in group.commands.items():  # pyright: ignore[reportAttributeAccessIssue]
        parts.append(f"## `shootax {name}`\n\n{inspect.cleandoc(command.help or '')}\n")
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            parts.append("| argument or option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(parameter) -> str:
    argument = parameter.param_type_name == "argument"
    name = parameter.name.upper() if argument else " ".join(parameter.opts)
    meaning = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    default = parameter.default
    if (
        not parameter.required
        and default is not None
        and not callable(default)
        and default is not False
    ):
        meaning += f" Default: `{default}`."
    return f"| `{name}` | {meaning} |"
