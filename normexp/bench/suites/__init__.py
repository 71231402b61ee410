"""The suites of `normexp bench`, one per file; each is `run(quick, rounds, overrides) -> Iterator[Result]`."""

ABOUT = {
    "steps": "training steps next to common alternatives",
    "layers": "every scheme's layer beside a convolution and a copy of its input",
    "tokens": "every scheme on the tokens of a decoder beside layer normalization",
    "offset": "batch statistics where means are far above deviations: accuracy and time beside torch's layer",
    "recurrent": "recurrent networks beside torch.nn.LSTM and an LN-LSTM written out step by step",
    "start": "from typing a command to its first step or answer",
    "sweep": "runs side by side against one after the other; what a run costs beyond its training",
    "memory": "peak memory of a run beside bare torch",
    "growth": "how time grows with batch size, width, evaluations, number of run directories and length of curves",
    "looks": "what a sequential design costs and saves, over simulated experiments",
    "halving": "what successive halving would have chosen, replayed from the curves of full grids",
    "waiting": "how threads wait for each other, with and without busy neighbours",
    "stack": "runs of one shape trained together (stack=true) against one after the other",
    "roofline": "the time of a step beside what the machine's matrix rate and memory bandwidth allow",
    "scale": "planning a sweep of up to 100,000 cells, and 64 empty workers that share it",
}
