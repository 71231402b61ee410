"""YAML that people write is read as it looks, or refused."""

import math

import pytest
import yaml

from normexp.records.meaning import check_keys, meant

READ = {  # word -> what it looks like
    "3": 3, "-3": -3, "0": 0, "10_000": 10_000, "0.10": 0.1, ".5": 0.5, "5.": 5.0, "1_000.5": 1000.5, "1.0e-3": 0.001,
    "1e-3": 0.001, "1E3": 1000.0, "2.5e3": 2500.0, "-1e+2": -100.0, ".inf": math.inf, "-.INF": -math.inf,
    "true": True, "False": False, "null": None, "~": None, "batch": "batch", "08": "08", "1.2.3": "1.2.3", "y": "y",
    "'010'": "010", '"on"': "on", "'1e3'": "1e3", "'2020-01-01'": "2020-01-01", "e3": "e3", "1e": "1e",
}  # fmt: skip
REFUSED = {  # word -> what YAML 1.1 takes it for
    "010": "8", "0x10": "16", "0b11": "3", "1_0": "10", "1__0": "10", "1:30": "90", "1:30.5": "90.5", "1_0.5": "10.5",
    "on": "true", "Yes": "true", "OFF": "false", "no": "false", "2020-01-01": "a date", "2020-13-45": "a date",
    "2020-01-01 10:00:00": "a date",
}  # fmt: skip


@pytest.mark.parametrize("word", READ)
def test_meaning_is_what_a_word_looks_like(word):
    (value,) = meant(f"key: {word}\n").values()
    assert (value, type(value)) == (READ[word], type(READ[word]))


@pytest.mark.parametrize("word", REFUSED)
def test_meaning_of_another_value_is_refused_with_its_line(word):
    with pytest.raises(ValueError, match=" in quotes") as refused:
        meant(f"first: 1\nkey:\n- a\n- {word}\n")
    assert str(refused.value).startswith(f"line 4: {word} is {REFUSED[word]} to YAML; write ")
    assert f"'{word}'" in str(refused.value)


def test_meaning_of_a_key_counts_too():
    with pytest.raises(ValueError, match=r"^line 1: on is true"):
        meant("on: 3\n")


@pytest.mark.parametrize("check", [meant, check_keys])
def test_meaning_of_a_key_that_stands_twice(check):
    with pytest.raises(ValueError, match=r"^line 3: the key 'b' is given twice$"):
        check("a: {b: 1}\nc: [{b: 1,\n b: 2}]\n")


def test_meaning_of_nothing_is_nothing():
    assert meant("") is None


def test_meaning_of_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match=r"^is not YAML \(IndexError\)$"):
        meant('a: !!int ""\n')
    with pytest.raises(yaml.YAMLError):
        meant("a: [\n")
