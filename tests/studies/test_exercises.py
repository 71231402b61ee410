"""The exercises' answers against values verified elsewhere."""

import pytest

from normexp.config import compose
from normexp.studies.base import Number, StudyContext
from normexp.studies.exercises import CALCULATIONS, Exercise, Exercises

SETUP = StudyContext(compose([]))


def numbers(reading: str) -> dict[str, Number]:
    return {number.place: number for number in Exercises(reading=reading).measure(SETUP).numbers}


@pytest.mark.parametrize(
    ("reading", "answers"),
    [
        ("biased", ["0.00, 1.22, -1.22", "1.34", "1.07"]),
        ("sample", ["0.00, 1.00, -1.00", "1.16", "0.87"]),
        ("other_axis", ["-1.00, -1.00, -1.00", "0.27"]),
    ],
)
def test_no_option_is_the_answer(reading, answers):
    found = [number for number in numbers(reading).values() if number.quantity.endswith("is the answer")]
    assert [number.computed for number in found] == answers
    assert not any(number.agrees for number in found)
    (row,) = Exercises(reading=reading).measure(SETUP).rows
    assert (row["calculated"], row["answered"]) == (len(answers), 0)


def test_an_option_that_is_the_answer_is_found():
    exercise = Exercise(9, "x", ((1.0, 3.0),), 1, 1, (("0.50",), ("-1.00",), ("1.00",), ("-1.01",)))
    answer = exercise.answer("biased")
    assert answer is not None
    assert exercise.matching(answer) == "b"


def test_one_example_has_no_other_axis():
    assert CALCULATIONS[2].answer("other_axis") is None


def test_exercise_three_has_two_true_options():
    number = numbers("biased")["exercise 3"]
    assert number.computed == "true as measured: (b), (c)"
    assert number.agrees is True
    assert "(c)" in number.remark


def test_small_batches_move_batch_normalized_values_only():
    assert numbers("biased")["exercise 5"].agrees is True
