"""The command line: `python -m minipaddle demo | run SCRIPT | gradcheck [OP ...] | info`.

Stands at the top of the house: may import anything, and does so only inside the command asked
for, so that `run` starts as fast as the script itself.
"""
from __future__ import annotations

import argparse
import sys


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minipaddle",
        description="PaddlePaddle 2.x as a small, readable NumPy/CuPy framework.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="the main job: train, convert, save, reload")
    demo.add_argument("--device", default="cpu", help="cpu (default), gpu or gpu:N")
    demo.add_argument("--epochs", type=_positive, default=12, metavar="N",
                      help="passes over the training digits (default: %(default)s)")
    demo.add_argument("--seed", type=_seed, default=0, metavar="N",
                      help="of weights, dropout and shuffling (default: %(default)s)")
    demo.add_argument("--out", default="demo_output", metavar="FOLDER",
                      help="where the saved model and the curve go (default: %(default)s)")

    run = commands.add_parser("run", help="run an unmodified Paddle script on minipaddle")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS",
                     help="handed to the script as they are")

    check = commands.add_parser("gradcheck", help="check gradients of ops and print a table")
    check.add_argument("ops", nargs="*", metavar="OP", help="names of ops (default: all)")

    commands.add_parser("info", help="versions, devices, BLAS")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdigit() or int(text) >= 2 ** 32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**32 - 1")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    """Run one command; gives the process's exit status (2 for bad arguments)."""
    argv = sys.argv[1:] if argv is None else argv
    if len(argv) > 1 and argv[0] == "run" and not argv[1].startswith("-"):
        from .run_script import run     # past argparse, which would swallow a `--` of the script
        return run(argv[1], argv[2:])
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command == "run":
        from .run_script import run
        return run(options.script, options.args)
    if options.command == "info":
        from .info import main as info
        return info()
    if options.command == "gradcheck":
        from .checks import main as check
        return check(options.ops)
    from . import set_device
    try:
        set_device(options.device)
    except (ValueError, RuntimeError, ImportError) as error:
        parser.error(f"argument --device: {error}")
    from .demo import main as demo
    return demo(epochs=options.epochs, seed=options.seed, folder=options.out)


if __name__ == "__main__":
    sys.exit(main())
