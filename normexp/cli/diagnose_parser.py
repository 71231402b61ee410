"""What `normexp diagnose` accepts."""

from __future__ import annotations

from normexp.cli.parser import Parser, Verbs, number


def add_diagnose(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "diagnose",
        help="say what is wrong with the normalization of your own network",
        description="Look at a torch network of your own on a batch: where train() and eval() disagree, running "
        "statistics that do not fit the data, batches, maps and groups that are too small, which weights are "
        "scale-invariant, what each normalization costs. Exit status 1 if there is a fault.",
        epilog="MODULE:FUNCTION is called without arguments; the second one may be a .npy file of inputs (N, ...).",
    )
    command.add_argument("network", metavar="MODULE:FUNCTION", help="returns the network, or (network, data)")
    command.add_argument("data", nargs="?", metavar="DATA", help="MODULE:FUNCTION of a batch or loader, or a .npy file")
    command.add_argument("--lr", type=number, metavar="RATE", help="of its SGD: for effective learning rates")
    command.add_argument("--weight-decay", type=number, metavar="D", help="its weight decay: for the equilibrium angle")
    command.add_argument("--momentum", type=number, metavar="M", help="its momentum (default 0): for the same")
    command.add_argument("--fix", metavar="FIX", help="recalibrate or convert=group; goes with --out")
    command.add_argument("--out", metavar="FILE", help="where the repaired network's state goes: FILE.safetensors")
    command.add_argument("--json", action="store_true", help="print the same as JSON")
