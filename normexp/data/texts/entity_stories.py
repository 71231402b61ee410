"""A generator of stories whose entities have no names, and of one question about each."""

from __future__ import annotations

import numpy as np

from normexp.data.base import Array
from normexp.data.texts.questions import ENTITY, PLACEHOLDER, Record

RELATIONS = (  # as the story tells it, as the question puts it: the words do not match
    ("travelled to see", "paid a visit to"),
    ("hired", "gave a job to"),
    ("sued", "went to court against"),
    ("praised", "spoke well of"),
    ("phoned", "called up"),
    ("beat", "won against"),
    ("rescued", "saved the life of"),
    ("hid from", "kept out of the way of"),
)
FILLERS = (  # sentences about an entity that state no relation
    "reporters asked {} about the weather",
    "a friend of {} declined to comment",
    "{} arrived late on monday",
    "nobody had expected {} to be there",
)
NAMES = (
    *("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ida", "Jon"),
    *("Kim", "Leo", "Mia", "Ned", "Ola", "Pia", "Raj", "Sue", "Tom", "Uma"),
)


def generate(rng: np.random.Generator, count: int, entities: int, facts: int, fillers: int) -> list[Record]:
    """Return stories of `facts` relations between two of `entities` and of `fillers`, in random order.

    The question restates one fact with one of its two entities replaced by @placeholder. Within a story a relation
    has every entity at most once as its subject and once as its object, so there is one answer. Markers are
    numbered as in NAMES; shuffle them (see `questions`), or the numbers become names.
    """
    order = _shuffled_rows(rng, count, entities)
    shifts = rng.integers(1, entities, (count, len(RELATIONS)))
    chosen = _shuffled_rows(rng, count, entities * len(RELATIONS))[:, :facts]
    told = rng.integers(entities * len(FILLERS), size=(count, fillers))
    places = _shuffled_rows(rng, count, facts + fillers)
    hides_object = rng.integers(2, size=count)
    rows = zip(order, shifts, chosen, told, places, hides_object, strict=True)
    return [_record(*row) for row in rows]


def _record(order: Array, shifts: Array, chosen: Array, told: Array, places: Array, hides_object: int) -> Record:
    """Write one story. The object of relation r is r's shift further along `order` than the subject."""
    size = len(order)
    facts = []
    for fact in chosen:
        relation, subject = divmod(int(fact), size)
        facts.append((relation, order[subject], order[(subject + shifts[relation]) % size]))
    sentences = [f"{_marker(s)} {RELATIONS[r][0]} {_marker(o)} ." for r, s, o in facts]
    sentences += [FILLERS[one // size].format(_marker(one % size)) + " ." for one in told]
    passage = " ".join(sentences[index] for index in places)
    relation, subject, object_ = facts[0]  # the order of the facts is random, and so is that of the sentences
    pair = [_marker(subject), _marker(object_)]
    answer, pair[hides_object] = pair[hides_object], PLACEHOLDER
    question = f"{pair[0]} {RELATIONS[relation][1]} {pair[1]}"
    names = {_marker(one): NAMES[one] for one in range(size)}
    return Record(passage.split(), question.split(), answer, names)


def _marker(entity: int) -> str:
    return f"{ENTITY}{entity}"


def _shuffled_rows(rng: np.random.Generator, count: int, size: int) -> Array:
    """Return a permutation of `size` numbers in each of `count` rows."""
    return rng.permuted(np.tile(np.arange(size), (count, 1)), axis=1)
