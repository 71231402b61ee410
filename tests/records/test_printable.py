"""Text that was read back cannot steer the terminal that shows it."""

from normexp.records import printable, printable_lines

HOSTILE = "a\x1b[2Jb\u202ec\rd"


def test_text_on_one_line_shows_its_control_characters() -> None:
    assert printable(f"{HOSTILE}\n\té") == "a\\x1b[2Jb\\u202ec\\rd\\n\\té"


def test_text_of_several_lines_keeps_lines_and_tabs_and_nothing_else() -> None:
    assert printable_lines(f"{HOSTILE}\n\té") == "a\\x1b[2Jb\\u202ec\\rd\n\té"
