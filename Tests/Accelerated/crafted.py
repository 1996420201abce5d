"""Signatures that random ones never hit: sums of points that double or vanish, x not below n, digests at their bounds.

Prints cases for `accelerated-check prepare`, without answers: swift-crypto gives those.
"""

import random
import sys

# SP 800-186, 3.2.1.3.
P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

# How many of each kind. Python takes some 10 ms for a signature.
COUNT = 200


def add(left, right):
    """Adds affine points; None is the identity."""
    if left is None or right is None:
        return left or right
    if left[0] == right[0] and (left[1] + right[1]) % P == 0:
        return None
    if left == right:
        slope = 3 * (left[0] ** 2 - 1) * pow(2 * left[1], -1, P) % P
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, P) % P
    x = (slope**2 - left[0] - right[0]) % P
    return x, (slope * (left[0] - x) - left[1]) % P


def multiply(scalar, point):
    result = None
    for bit in bin(scalar % N)[2:]:
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def point_from(x):
    """The first point from x on."""
    while True:
        square = (x**3 - 3 * x + B) % P
        y = pow(square, (P + 1) // 4, P)
        if x < P and y * y % P == square:
            return x, y
        x += 1


def show(key, r, s, digest):
    if key is not None:
        print(f"digest 04{key[0]:064x}{key[1]:064x} {r:064x}{s:064x} {digest:064x}")


def with_variants(key, r, s, digest):
    """A signature, and some beside it that are wrong but for n - s."""
    show(key, r, s, digest)
    show(key, r, N - s, digest)
    show(key, r, s, digest ^ 1)
    show(key, r % (N - 1) + 1, s, digest)
    for scalar in (0, N):
        show(key, scalar, s, digest)
        show(key, r, scalar, digest)
    for number in (r + N, s + N):
        if number < 1 << 256:
            show(key, *((number, s) if number == r + N else (r, number)), digest)


def by_factors(key, of_base, of_key):
    """The signature whose verification computes of_base * G + of_key * key."""
    point = add(multiply(of_base, G), multiply(of_key, key))
    # The identity has no x, so any r is wrong.
    r = point[0] % N if point else chance.randrange(1, N)
    s = r * pow(of_key, -1, N) % N
    with_variants(key, r, s, of_base * s % N)


def by_point(point):
    """A signature whose verification computes this point, by the key that follows from it."""
    r = point[0] % N
    s, digest = chance.randrange(1, N), chance.randrange(1, N)
    negated = multiply(N - digest, G)
    with_variants(multiply(pow(r, -1, N), add(multiply(s, point), negated)), r, s, digest)


def by_digest(digest):
    private, nonce = chance.randrange(1, N), chance.randrange(1, N)
    r = multiply(nonce, G)[0] % N
    s = pow(nonce, -1, N) * (digest + r * private) % N
    with_variants(multiply(private, G), r, s, digest)


chance = random.Random(int(sys.argv[1]))
edges = sorted(
    {scalar % N for k in range(1, 18) for scalar in (k, -k)}
    | {scalar % N for k in (4, 5, 8, 52, 64, 104, 128, 208, 252, 255) for scalar in (2**k - 1, 2**k, 2**k + 1)}
    | {(N - 1) // 2, (N + 1) // 2}
)
keys = [multiply(scalar, G) for scalar in (1, 2, 3, N - 1, N - 2, (N + 1) // 2)]
keys += [point_from(x) for x in (0, 1 << 128, N, P - 60, 1 << 255)]

for _ in range(COUNT):
    by_factors(chance.choice(keys), chance.choice(edges), chance.choice(edges))
    # Both summands are one point, or its opposite.
    private, of_key = chance.randrange(1, N), chance.choice([*edges, chance.randrange(1, N)])
    by_factors(multiply(private, G), private * of_key % N, of_key)
    by_factors(multiply(private, G), -private * of_key % N, of_key)
    # x is not below n, or is small.
    by_point(point_from(chance.choice([N, P - 60, chance.randrange(N, P - 60), chance.randrange(1, 1 << 64)])))
    by_digest(chance.choice([1, N - 1, N, N + 1, 0, (1 << 256) - 1, chance.randrange(N, 1 << 256)]))
