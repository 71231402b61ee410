"""What a figure of an experiment says of its runs."""

from types import SimpleNamespace

from normexp.report.figures.context import FigureContext


def test_a_note_of_null_is_none() -> None:
    """A record may have it, and `Data: None.` stood under the figure."""
    notes = {"batch": None, "layer": "a JPEG copy", "none": ""}
    runs = {(cell, 0): SimpleNamespace(directory=SimpleNamespace(data={"note": note})) for cell, note in notes.items()}
    context = SimpleNamespace(runs={cell: {0: None} for cell in notes}, records=runs)
    assert FigureContext.data_notes.fget(context) == ["Data: a JPEG copy."]
