"""For mkdocstrings: a public function that has the name of the private module it stands in.

`from shootax._train.fit import fit` makes `shootax._train.fit` both a module and a function. Python takes
the function, which is imported last; Griffe takes the module. This extension makes it take the function.
"""

import griffe


class Shadowed(griffe.Extension):
    """Sends such names to the function."""

    def on_package(self, *, pkg: griffe.Module, **_) -> None:
        """Looks at every name of the package that is imported from elsewhere in it."""
        _visit(pkg, pkg)


def _visit(module: griffe.Module, package: griffe.Module) -> None:
    for name, member in list(module.members.items()):
        if isinstance(member, griffe.Module):
            _visit(member, package)
        elif isinstance(member, griffe.Alias) and _is_shadowed(member.target_path, name, package):
            target = f"{member.target_path}.{name}"
            module.members[name] = griffe.Alias(name, target, parent=module)


def _is_shadowed(path: str, name: str, package: griffe.Module) -> bool:
    here: griffe.Object | griffe.Alias = package
    for part in path.split(".")[1:]:
        if not isinstance(here, griffe.Module) or part not in here.members:
            return False
        here = here.members[part]
    return isinstance(here, griffe.Module) and name in here.members
