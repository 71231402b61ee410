"""The grammar of ranges in `_allowed_`."""

import pytest
from one_line import one_line_error

from normexp.config.allowed import parse
from normexp.errors import UserError

GOOD = {
    "an integer of the default's type": (None, 3, 7, 7),
    "an integer where a number is due": (None, 0.5, 1, 1.0),
    "null where the default is null": (None, None, None, None),
    "a closed end": ("[0, 1)", 0.5, 0, 0.0),
    "an open end": ("(0, 1]", 0.5, 1, 1.0),
    "no upper end": ("[1, inf)", 5, 10**9, 10**9),
    "a type of its own": ("int [1, inf) or null", None, 4, 4),
    "null by name": ("int [1, inf) or null", None, None, None),
    "a text": ("str or null", None, "a/b", "a/b"),
    "a list by the default": (None, [1, 2], [3], [3]),
    "an empty list": ("list of int [1, inf)", [1], [], []),
    "a list of numbers": ("list of (0, 1)", [0.5], [0.25, 0.75], [0.25, 0.75]),
    "a list of one": ("list of one or more int [1, inf)", [1], [2], [2]),
    "a list of so many": ("list of 2 [0, 1)", [0.9, 0.999], [0, 0.5], [0.0, 0.5]),
    "a word": ("fp32 | bf16", "fp32", "bf16", "bf16"),
    "a truth value": ("bool", False, True, True),
    "a truth value beside words": ("true | false | norms", False, True, True),
    "the same in quotes": ("true | false | norms", False, "false", False),
    "a word beside truth values": ("true | false | norms", False, "norms", "norms"),
    "a share of examples": ("int [0, inf) or share", 0, 0.25, 0.25),
    "a number of examples": ("int [0, inf) or share", 0, 25, 25),
    "a share or null": ("int [1, inf) or share or null", None, None, None),
}

BAD = {
    "below a closed end": ("[0, 1)", 0.5, -0.1, "a number in [0, 1)"),
    "at an open end": ("[0, 1)", 0.5, 1, "a number in [0, 1)"),
    "not finite": ("[0, inf)", 0.5, float("inf"), "a number in [0, inf)"),
    "smaller than float32 has": ("(0, inf)", 0.5, 1e-320, "a number in (0, inf), at least 1.18e-38 (float32)"),
    "smaller than float32 has, where 0 may be": ("[0, inf)", 0.5, 1e-39, "at least 1.18e-38 (float32)"),
    "not a number": ("[0, inf)", 0.5, float("nan"), "a number in [0, inf)"),
    "text for a number": (None, 0.5, "abc", "a number"),
    "a fraction for an integer": (None, 3, 1.5, "an integer"),
    "true for an integer": ("[0, inf)", 3, True, "an integer in [0, inf)"),
    "true for a number": (None, 0.5, True, "a number"),
    "1 for true": (None, False, 1, "true or false"),
    "null without leave": ("[1, inf)", 5, None, "an integer in [1, inf)"),
    "null for a text": (None, "results", None, "a text"),
    "one value for a list": ("list of int [1, inf)", [1], 3, "a list of integers in [1, inf)"),
    "one bad item": ("list of int [1, inf)", [1], [3, 0], "a list of integers in [1, inf)"),
    "no item": ("list of one or more int [1, inf)", [1], [], "a list of one or more integers in [1, inf)"),
    "too few items": ("list of 2 [0, 1)", [0.9, 0.999], [0.9], "a list of 2 numbers in [0, 1)"),
    "all as a share": ("int [0, inf) or share", 0, 1.0, "an integer in [0, inf) or a share in (0, 1)"),
    "a share below 0": (
        "int [1, inf) or share or null",
        None,
        -0.1,
        "an integer in [1, inf) or a share in (0, 1) or null",
    ),
    "a share without leave": ("int [0, inf)", 0, 0.5, "an integer in [0, inf)"),
    "an unknown word": ("fp32 | bf16", "fp32", "fp16", "one of fp32, bf16; did you mean"),
}

QUOTED = {
    "a number": ("int [0, inf)", 0, "0", "k='0' is a text; leave out the quotes"),
    "a number that is none without them": ("int [0, inf)", 0, "-1", "k=-1: must be an integer in [0, inf)"),
    "a share": ("int [0, inf) or share", 0, "0.1", "k='0.1' is a text; leave out the quotes"),
    "null": ("int [1, inf) or null", None, "null", "k='null' is a text; leave out the quotes"),
    "true": ("bool", False, "true", "k='true' is a text; leave out the quotes"),
    "items": ("list of int [1, inf)", [1], [8, "4"], "k=[8, '4'] holds a text; leave out the quotes"),
    "a list": ("list of int [1, inf)", [1], "[8,4]", "k='[8,4]' is a text; leave out the quotes"),
    "a word": ("int [0, inf)", 0, "five", "k=five: must be an integer in [0, inf)"),
    "deep brackets": ("int [0, inf)", 0, "[" * 100_000, "k=[[["),
}


@pytest.mark.parametrize(("spec", "default", "value", "said"), QUOTED.values(), ids=QUOTED)
def test_a_value_in_quotes_is_not_shown_as_one_that_is_allowed(spec, default, value, said):
    """`seed: "0"` was refused as `seed=0: must be an integer in [0, ...]`."""
    with one_line_error() as refused:
        parse(spec, default).check("k", value)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("spec", "default", "value", "expected"), GOOD.values(), ids=GOOD)
def test_allowed_takes(spec, default, value, expected):
    checked = parse(spec, default).check("key", value)
    assert (checked, type(checked)) == (expected, type(expected))


@pytest.mark.parametrize(("spec", "default", "value", "said"), BAD.values(), ids=BAD)
def test_allowed_refuses_in_one_line(spec, default, value, said):
    with one_line_error() as error:
        parse(spec, default).check("optim.lr", value)
    message = str(error.value)
    assert message.startswith("optim.lr=")
    assert said in message


@pytest.mark.parametrize("value", [None, True, False])
def test_allowed_shows_values_as_they_are_typed(value):
    with pytest.raises(UserError, match=f"lr={ {None: 'null', True: 'true', False: 'false'}[value] }: "):
        parse("[0, 1)", 0.5).check("lr", value)


def test_allowed_knows_its_own_mistakes():
    with pytest.raises(AssertionError, match="not a specification"):
        parse("between 0 and 1", 0.5)


AS_TEXT = {
    "a truth value": ("str or null", True, """as a text it is typed 'dataset.target="true"'"""),
    "null": (None, None, """as a text it is typed 'dataset.target="null"'"""),
    "in a list": ("list of str or null", ["a", False, None], """'dataset.target=["a","false","null"]'"""),
}


@pytest.mark.parametrize(("spec", "value", "said"), AS_TEXT.values(), ids=AS_TEXT)
def test_a_text_that_looks_like_another_value_is_typed_in_quotes(spec, value, said):
    with one_line_error() as error:
        parse(spec, "a").check("dataset.target", value)
    assert str(error.value).endswith(said)
