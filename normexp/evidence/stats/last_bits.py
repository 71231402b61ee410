"""The last bits of a float are noise: 0.57 - 0.01 is a little less than 0.56, and no seed has made it so."""

DIGITS = 12  # that are kept; a float has nearly 16, and sums and differences of a few lose some


def without_last_bits(value: float) -> float:
    """Return twelve digits of a value: of 0.1 + 0.2 they are 0.3."""
    return float(f"{value:.{DIGITS}g}")
