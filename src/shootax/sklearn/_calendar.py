"""The calendar as traced arithmetic on seconds, for exported programs."""

import calendar
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

DAY = 86400.0
YEAR = 365.2425 * DAY


def encoded(
    seconds: Float[Array, "samples 1"], described: dict[str, Any]
) -> Float[Array, "samples n"]:
    """The traced form of `dates.encode`. Times are seconds since 1970 in UTC, NaN where missing."""
    lost = jnp.isnan(seconds)
    mean = described["mean"]
    known = jnp.where(lost, mean, seconds)
    year, month, of_year, leap = _civil(jnp.floor(known / DAY))
    shares = {
        "month": (month - 1) / 12,
        "day of year": of_year / jnp.where(leap, 366.0, 365.0),
        "weekday": _modulo(jnp.floor(known / DAY) + 3, 7.0) / 7,  # 1970 began on a Thursday
        "hour": jnp.floor(_modulo(known, DAY)) / DAY,
    }
    parts = [jnp.where(lost, 0.0, (known - mean) / YEAR), year]
    for name in described["circles"]:
        angle = 2 * np.pi * shares[name]
        parts += [jnp.where(lost, 0.0, jnp.sin(angle)), jnp.where(lost, 0.0, jnp.cos(angle))]
    return jnp.concatenate(parts, axis=1)


def _modulo(value: Array, period: float) -> Array:
    return value - period * jnp.floor(value / period)


def _civil(days: Array) -> tuple[Array, Array, Array, Bool[Array, "samples 1"]]:
    """Year, month and day of the year (from 0) of days since 1970, and whether the year is a leap
    year. All numbers are small integers, so floats are exact."""
    # Division by the length of the mean year is wrong by at most one year.
    year = jnp.floor(days / (YEAR / DAY)) + 1970
    year = year - (days < _start(year)).astype(days.dtype)
    year = year + (days >= _start(year + 1)).astype(days.dtype)
    of_year, leap = days - _start(year), _start(year + 1) - _start(year) > 365
    extra = leap.astype(days.dtype)
    month = jnp.ones_like(days)
    for number in range(2, 13):
        before = sum(calendar.monthrange(2023, earlier)[1] for earlier in range(1, number))
        first = before + (extra if number > 2 else 0)
        month = month + (of_year >= first).astype(days.dtype)
    return year, month, of_year, leap


def _start(year: Array) -> Array:
    """Days from 1970 to the first of January of a year."""
    past = year - 1
    leap_days = jnp.floor(past / 4) - jnp.floor(past / 100) + jnp.floor(past / 400)
    return 365 * (year - 1970) + leap_days - 477  # leap days before 1970
