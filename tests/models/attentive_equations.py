"""The attentive reader in float64 NumPy, written from Hermann et al. 2015, text by text; nothing here knows torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from recurrent_equations import Array, Parameters, Reference

Texts = Sequence[Sequence[int]]  # word numbers


@dataclass
class AttentiveReference:
    """One reader in training.

    Args:
        scheme: name of the option of `norm`.
        everywhere: the scheme is in the attention too.
        p: the reader's parameters by their names.
    """

    scheme: str
    everywhere: bool
    bidirectional: bool
    p: Parameters

    def answers(self, documents: Texts, questions: Texts) -> Array:
        """Return what enters the softmax over the vocabulary, (N, V)."""
        y, u = self.states("document", documents), self.ends("question", questions)
        r = self.read(y, u)
        g = np.tanh(self.term("from_document", r) + self.term("from_question", u) + self.p["bias"])
        return g @ self.p["output.weight"].T + self.p["output.bias"]

    def read(self, y: list[Array], u: Array) -> Array:
        """r = sum_t s_t y_t of every document, its steps and no others."""
        of_question = self.term("attention.from_question", u) + self.p["attention.bias"]
        of_document = self.term_of_steps("attention.from_document", y)
        read = []
        for n, states in enumerate(y):
            scores = np.exp(np.tanh(of_document[n] + of_question[n]) @ self.p["attention.score.weight"][0])
            read.append((scores / scores.sum()) @ states)
        return np.stack(read)

    def states(self, part: str, texts: Texts) -> list[Array]:
        """y_1, y_2, ... of every text, each (length, F)."""
        found = self.walk(f"{part}.forwards.", texts)
        if not self.bidirectional:
            return found
        back = self.walk(f"{part}.backwards.", [text[::-1] for text in texts])
        return [np.concatenate([one, other[::-1]], axis=1) for one, other in zip(found, back, strict=True)]

    def ends(self, part: str, texts: Texts) -> Array:
        """h after the last word and, backwards, after the first: (N, F)."""
        found = [self.walk(f"{part}.forwards.", texts)]
        if self.bidirectional:
            found.append(self.walk(f"{part}.backwards.", [text[::-1] for text in texts]))
        return np.concatenate([np.stack([h[-1] for h in one]) for one in found], axis=1)

    def walk(self, prefix: str, texts: Texts) -> list[Array]:
        """h after every word of every text; a step's statistics are those of the texts that are so long."""
        own = {name.removeprefix(prefix): value for name, value in self.p.items() if name.startswith(prefix)}
        cell, found = Reference("lstm", self.scheme, own), [[] for _ in texts]
        state = [[row for _ in texts] for row in own["initial"]]
        for t in range(max(map(len, texts))):
            there = [n for n, text in enumerate(texts) if len(text) > t]
            x = np.stack([self.p["words.weight"][texts[n][t]] for n in there])
            h, c = cell.lstm(x, [np.stack([part[n] for n in there]) for part in state])
            for place, n in enumerate(there):
                state[0][n], state[1][n] = h[place], c[place]
                found[n].append(h[place])
        return [np.stack(one) for one in found]

    def term(self, name: str, x: Array) -> Array:
        """One of the terms that enter a tanh: (N, F) -> (N, H)."""
        terms = Reference("", self.scheme if self.everywhere else "none", self.p)
        return terms.normalize(f"{name}.norm", x @ terms.weight(f"{name}.layer").T)

    def term_of_steps(self, name: str, y: list[Array]) -> list[Array]:
        """The same for the states of documents, time step by time step."""
        found: list[list[Array]] = [[] for _ in y]
        for t in range(max(map(len, y))):
            there = [n for n, states in enumerate(y) if len(states) > t]
            for row, n in zip(self.term(name, np.stack([y[n][t] for n in there])), there, strict=True):
                found[n].append(row)
        return [np.stack(rows) for rows in found]
