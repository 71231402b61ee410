"""Values as people type them: a list of texts is taken apart as it was put together."""

import pytest

from normexp.config.text import as_item, is_number, items


@pytest.mark.parametrize(
    "texts",
    [
        ["batch", "layer"],
        ["a,b", "c"],
        ['a "b", c', "it's", "x\\", 'ends, in \\"', "ends, in \\"],
        ["[100,100]", "[[1,2],[3,4]]", "interval(0,1)", "{a:1,b:[2,3]}", '["a],b",c]'],
        ['"quoted"', "5' 6\"", "a)b", ""],
    ],
)
def test_items_are_what_was_listed(texts):
    typed = ",".join(text if text.startswith(("[", "{", "interval")) else as_item(text) for text in texts)
    assert items(typed) == texts


def test_true_is_no_number():
    assert list(map(is_number, (1, 0.5, float("nan"), True, False, "1", None))) == [True] * 3 + [False] * 4
