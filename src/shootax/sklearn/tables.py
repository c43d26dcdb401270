"""Tables of text, dates, numbers and missing values, as arrays for an estimator.

`shootax fit` and `shootax predict` use this module. Use it yourself to treat a data frame the same way.
"""

from shootax.sklearn._columns import Column as Column
from shootax.sklearn._columns import Frame as Frame
from shootax.sklearn._columns import Problems as Problems
from shootax.sklearn._columns import Series as Series
from shootax.sklearn._columns import encode as encode
from shootax.sklearn._columns import from_json as from_json
from shootax.sklearn._columns import is_categorical as is_categorical
from shootax.sklearn._columns import learn as learn
from shootax.sklearn._columns import numbers_of as numbers_of
from shootax.sklearn._columns import to_json as to_json
from shootax.sklearn._screening import screen as screen
from shootax.sklearn._training import first_too_large as first_too_large
