"""Small changes of meaning, made to the source one at a time: do the tests notice?

`make mutate` draws some hundred changes over all packages, seeded: a sign, a comparison, an index, a
dropped factor, a dropped check, swapped arguments, an ignored option, a constant, a boundary. Each is
made in a copy of the source and run against the nearest tests.
Everything is kept under `build/mutate/`, so a run can be stopped and started again.

- `edits.py` finds the changes that can be made to a file.
- `sample.py` draws from them.
- `guess.py` ranks tests by the rare words that they share with a change.
- `reach.py` can record which test executes which line, which then counts for the rank, too.
- `nursery.py` forks processes that have imported everything but the library.
- `trial.py` makes one change and runs tests against it.
- `named.toml` lists changes that no test noticed once.
- `table.py` prints the result by package, and the survivors.
- `equivalent.toml` lists changes that change nothing, each with its reason.
"""
