"""Small changes of meaning, made to the source one at a time: do the tests notice?

`make mutate` draws a few hundred changes from all packages, with a seed: a sign, a comparison, an index,
a dropped factor, a dropped check, swapped arguments, an ignored option, a constant, a boundary. Each
change is made in a copy of the source, and the nearest tests run against it. All results are kept under
`build/mutate/`, so you can stop a run and start it again.

- `edits.py` finds the changes that can be made to a file.
- `sample.py` draws from them.
- `guess.py` ranks tests by the rare words that they share with a change.
- `reach.py` can record which test executes which line; the record then counts in the ranking, too.
- `nursery.py` forks processes that have imported everything except the library.
- `trial.py` makes one change and runs tests against it.
- `named.toml` lists changes that no test once noticed.
- `table.py` prints the result by package, and the survivors.
- `equivalent.toml` lists changes without any effect, each with its reason.
"""
