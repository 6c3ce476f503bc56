"""Random Python functions over tensors: nested branches and loops, exits, lists, assignments.

`write(rng)` gives the text of a function `f(x, y, n)` of two float tensors [3] and an integer
tensor. Names may be unbound on some way: plain Python and converted code must agree on that too.
"""
from __future__ import annotations

import random

TENSORS = ("a", "b", "c", "x", "y")


class Writer:
    """Writes one function, line by line."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines, self.loops, self.count, self.budget = rng, [], 0, 0, 24
        self.lists = False

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def tensor(self) -> str:
        return self.rng.choice(TENSORS[:3] * 2 + TENSORS)

    def number(self) -> str:
        return self.rng.choice(["1", "2", "0.5", "-1.5", "k", "n", "x.shape[0]"])

    def expression(self) -> str:
        r, t, u = self.rng, self.tensor(), self.tensor()
        return r.choice([
            f"{t} * {u}", f"{t} + {u}", f"paddle.tanh({t})", f"{t} - {u} * 0.5", f"{t} * 0.7",
            f"{t} + {r.choice(['1', '0.5', 'k', 'n'])}", f"{t}[{r.choice(['0', '1', '-1'])}] * {u}",
            f"paddle.where({t} > {u}, {t}, {u})", f"-{t}", f"{t}.mean() + {u}", f"{t} / 2",
            f"({t} if {self.condition()} else {u})", f"paddle.concat([{t}[1:], {u}[:1]])",
            f"paddle.stack([{t}, {u}]).sum(0)", f"{t}.reshape([-1])", f"helper({t}, {u})",
            f"max({t}.sum(), {u}.mean()) * {t}",
        ])

    def condition(self) -> str:
        r, t, u = self.rng, self.tensor(), self.tensor()
        simple = [f"{t}.sum() > 0", f"{t}.mean() < {u}.mean()", "n > 1", f"{t}.max() > 0.5",
                  "k > 1", "k < n", f"{t}[0] > {u}[1]", "x.shape[0] == 3", "flag"]
        kind = r.random()
        if kind < 0.65:
            return r.choice(simple)
        if kind < 0.75:
            return f"not {r.choice(simple)}"
        if kind < 0.85:
            return f"-1 < {t}.mean() < 0.5"
        return f"({r.choice(simple)} {r.choice(['and', 'or'])} {r.choice(simple)})"

    def block(self, depth: int, size: int) -> None:
        before = len(self.lines)
        for _ in range(size):
            if self.budget <= 0:
                break
            self.statement(depth)
        if len(self.lines) == before:
            self.put(depth, "pass")

    def statement(self, depth: int) -> None:
        r = self.rng
        self.budget -= 1
        kind = r.random()
        nested = depth < 4
        if kind < 0.34 or not nested:
            target = r.choice(["a", "b", "c"])
            if r.random() < 0.25:
                self.put(depth, f"{target} {r.choice(['+=', '-=', '*='])} {self.tensor()}")
            else:
                self.put(depth, f"{target} = {self.expression()}")
        elif kind < 0.40:
            self.put(depth, r.choice([
                "k = k + 1", "k += 1", "k = 2", "flag = not flag", f"flag = {self.condition()}",
                "a, b = b, a", "items.append(a)", "items.append(b * 0.5)", "a = items[-1]",
                "items[0] = c", "table['h'] = table['h'] + a", "b = table['h']", "k = int(n) + k",
                "a[0] = b[1]", "c = late" if r.random() < 0.3 else "late = c"]))
        elif kind < 0.66:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, r.randint(1, 3))
            if r.random() < 0.3:
                self.put(depth, f"elif {self.condition()}:")
                self.block(depth + 1, r.randint(1, 2))
            if r.random() < 0.6:
                self.put(depth, "else:")
                self.block(depth + 1, r.randint(1, 2))
        elif kind < 0.84:
            self.loop(depth)
        elif kind < 0.94 and self.loops:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, r.choice(["break", "continue"]))
        else:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, f"return {self.result()}")

    def loop(self, depth: int) -> None:
        r = self.rng
        self.count += 1
        i = f"i{self.count}"
        self.loops += 1
        kind = r.random()
        if kind < 0.3:
            self.put(depth, f"for {i} in range({r.choice(['n', '2', '3', 'k', 'n + 1'])}):")
        elif kind < 0.45:
            self.put(depth, f"for {i} in {self.tensor()}:")
            self.put(depth + 1, f"c = c + {i} * 0.1")
        elif kind < 0.6:
            self.put(depth, f"for {i}, row in enumerate({self.tensor()}):")
            self.put(depth + 1, f"b = b * 0.9 + row * {i}")
        elif kind < 0.7:
            self.put(depth, f"for {i} in items[:3]:")
        else:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {i} < {r.choice(['n', '3', 'n + 1'])} and "
                            f"{r.choice(['True', 'k < 9', self.condition()])}:")
            self.put(depth + 1, f"{i} = {i} + 1")
        self.block(depth + 1, r.randint(1, 3))
        self.loops -= 1
        if r.random() < 0.2:
            self.put(depth, "else:")
            self.block(depth + 1, 1)

    def result(self) -> str:
        return self.rng.choice(["a, b, c, k", "a, b + c, c, k", "c, b, items[-1], k"])

    def function(self) -> str:
        self.put(0, "def helper(t, u):")
        self.put(1, "if t.sum() > u.sum():")
        self.put(2, "return t * 0.5")
        self.put(1, "return u - t")
        self.put(0, "")
        self.put(0, "")
        self.put(0, "def f(x, y, n):")
        for text in ("a, b, c = x * 1, y * 1, x + y", "k, flag = 1, False", "items = [x, y]",
                     "table = {'h': x}"):
            self.put(1, text)
        self.block(1, self.rng.randint(3, 6))
        self.put(1, f"return {self.result()}")
        return "\n".join(self.lines) + "\n"


def write(seed: int) -> str:
    """The text of the program with this number."""
    return Writer(random.Random(seed)).function()
