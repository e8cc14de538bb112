"""GF(2^w), power sums and their decoding (exchange.md, "Power sums", "Decoding")."""
from __future__ import annotations

import functools
import random
from typing import Optional

_TAILS = [int(x, 16) for x in (
    "3 5 3 3 1b 3 9 5 9 1b 21 3 2b 9 9 27 9 5 3 21 1b 9 1b 27 3 5 3 9 8d").split()]


class Field:
    """GF(2^w), 4 <= w <= 32; bit i of a number is the coefficient of x^i."""

    def __init__(self, w: int) -> None:
        self.w = w
        self.poly = 1 << w | _TAILS[w - 4]
        self.reduce_table = [self._reduce_slowly(b << w) for b in range(1 << 8)]
        self.square_tables = [
            [self._reduce_slowly(self._spread(b) << (16 * i)) for b in range(256)]
            for i in range((w + 7) // 8)]

    def _reduce_slowly(self, a: int) -> int:
        while a >> self.w:
            a ^= self.poly << (a.bit_length() - 1 - self.w)
        return a

    @staticmethod
    def _spread(b: int) -> int:
        return sum((b >> i & 1) << (2 * i) for i in range(8))

    def mul(self, a: int, b: int) -> int:
        if not a or not b:
            return 0
        a2, a4, a8 = a << 1, a << 2, a << 3
        t = (0, a, a2, a2 ^ a, a4, a4 ^ a, a4 ^ a2, a4 ^ a2 ^ a,
             a8, a8 ^ a, a8 ^ a2, a8 ^ a2 ^ a, a8 ^ a4, a8 ^ a4 ^ a, a8 ^ a4 ^ a2,
             a8 ^ a4 ^ a2 ^ a)
        p = 0
        shift = 0
        while b:
            p ^= t[b & 15] << shift
            b >>= 4
            shift += 4
        w, table = self.w, self.reduce_table
        extra = p.bit_length() - w
        while extra > 0:
            cut = extra - 8 if extra > 8 else 0
            top = p >> (w + cut)
            p ^= (top << (w + cut)) ^ (table[top] << cut)
            extra = p.bit_length() - w
        return p

    def sqr(self, a: int) -> int:
        out = 0
        for table in self.square_tables:
            out ^= table[a & 255]
            a >>= 8
        return out

    def inv(self, a: int) -> int:
        """a^(2^w - 2)."""
        out, power = 1, a
        for _ in range(self.w - 1):
            power = self.sqr(power)
            out = self.mul(out, power)
        return out

    def power_sums(self, ids: "list[int]", first: int, count: int) -> "list[int]":
        """Sums number first, first + 1, ...: sum i is that of id^(2i+1)."""
        sums = [0] * count
        for x in ids:
            x2 = self.sqr(x)
            p = x
            for _ in range(first):
                p = self.mul(p, x2)
            for i in range(count):
                sums[i] ^= p
                p = self.mul(p, x2)
        return sums

    # -- polynomials: lists of coefficients, lowest first

    def evaluate(self, poly: "list[int]", x: int) -> int:
        out = 0
        for c in reversed(poly):
            out = self.mul(out, x) ^ c
        return out

    def monic(self, a: "list[int]") -> "list[int]":
        if a[-1] == 1:
            return a
        f = self.inv(a[-1])
        return [self.mul(c, f) for c in a]

    def mod(self, a: "list[int]", b: "list[int]") -> "list[int]":
        """a mod b for a monic b."""
        return self.divmod(a, b)[1]

    def divmod(self, a: "list[int]", b: "list[int]") -> "tuple[list[int], list[int]]":
        a = list(a)
        n = len(b)
        quotient = [0] * max(0, len(a) - n + 1)
        for i in range(len(a) - n, -1, -1):
            c = a[i + n - 1]
            quotient[i] = c
            if c:
                for j in range(n):
                    if b[j]:
                        a[i + j] ^= self.mul(c, b[j]) if b[j] != 1 else c
        a = a[:n - 1]
        while a and not a[-1]:
            a.pop()
        return quotient, a

    def gcd(self, a: "list[int]", b: "list[int]") -> "list[int]":
        while b:
            b = self.monic(b)
            a, b = b, self.mod(a, b)
        return self.monic(a)

    def sqr_mod(self, a: "list[int]", b: "list[int]") -> "list[int]":
        out = [0] * (2 * len(a) - 1 if a else 0)
        for i, c in enumerate(a):
            out[2 * i] = self.sqr(c)
        return self.mod(out, b)

    def roots(self, poly: "list[int]") -> "Optional[list[int]]":
        """All roots, or None unless there are as many as the degree, all distinct."""
        poly = self.monic(poly)
        x = [0, 1]
        power = self.mod(x, poly)
        for _ in range(self.w):
            power = self.sqr_mod(power, poly)
        if power != self.mod(x, poly):
            return None
        return self._split(poly, random.Random(1))

    def _split(self, poly: "list[int]", rng: random.Random) -> "list[int]":
        if len(poly) == 1:
            return []
        if len(poly) == 2:
            return [poly[0]]
        while True:
            term = self.mod([0, rng.randrange(1, 1 << self.w)], poly)
            trace = list(term)
            for _ in range(self.w - 1):
                term = self.sqr_mod(term, poly)
                n = max(len(trace), len(term))
                trace = [(trace[i] if i < len(trace) else 0)
                         ^ (term[i] if i < len(term) else 0) for i in range(n)]
            while trace and not trace[-1]:
                trace.pop()
            if len(trace) < 2:
                continue
            factor = self.gcd(poly, trace)
            if 1 < len(factor) < len(poly):
                return (self._split(factor, rng)
                        + self._split(self.monic(self.divmod(poly, factor)[0]), rng))


@functools.lru_cache(maxsize=None)
def field(w: int) -> Field:
    return Field(w)


def _locator(f: Field, sums: "list[int]") -> "list[int]":
    """Berlekamp-Massey over all syndromes; even ones are squares."""
    n = 2 * len(sums)
    s = [0] * (n + 1)
    for i, v in enumerate(sums):
        s[2 * i + 1] = v
    for i in range(2, n + 1, 2):
        s[i] = f.sqr(s[i // 2])
    c, b, length, m, last = [1], [1], 0, 1, 1
    for i in range(n):
        d = s[i + 1]
        for j in range(1, min(length, len(c) - 1) + 1):
            if c[j]:
                d ^= f.mul(c[j], s[i + 1 - j])
        if not d:
            m += 1
            continue
        t = list(c)
        coefficient = f.mul(d, f.inv(last))
        c += [0] * (len(b) + m - len(c))
        for j, v in enumerate(b):
            c[j + m] ^= f.mul(coefficient, v)
        if 2 * length <= i:
            length, b, last, m = i + 1 - length, t, d, 1
        else:
            m += 1
    while c and not c[-1]:
        c.pop()
    return c if len(c) - 1 == length else []


def decode(f: Field, sums: "list[int]", known: "list[int]") -> "Optional[list[int]]":
    """The set with these power sums, or None. `known`: ids that are likely in it."""
    c = _locator(f, sums)
    if not c or len(c) - 1 > len(sums):
        return None
    poly = f.monic(list(reversed(c)))  # its roots are the ids
    found = [x for x in known if f.evaluate(poly, x) == 0] if len(poly) > 1 else []
    for x in found:
        poly, rest = f.divmod(poly, [x, 1])
        if rest:
            return None
    rest_roots = f.roots(poly) if len(poly) > 1 else []
    if rest_roots is None:
        return None
    ids = found + rest_roots
    return ids if 0 not in ids and len(set(ids)) == len(ids) else None
