#!/usr/bin/env python3
"""Draws the icon, a husk around a prompt: tools/dist/icon.py >tools/dist/icon.png"""

import math
import struct
import sys
import zlib

SIZE = 512
BACK, SHELL, INNER, INK = (24, 26, 33), (226, 160, 63), (38, 41, 52), (245, 243, 236)
SOFT = 1.5  # pixels over which an edge fades


def rounded_box(x, y, width, height, radius):
    """The signed distance to a box around the middle, in pixels: below 0 is inside."""
    dx, dy = abs(x) - width + radius, abs(y) - height + radius
    return math.hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - radius


def segment(x, y, ax, ay, bx, by, width):
    t = max(0, min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)))
    return math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)) - width


def leaf(x, y, radius, offset):
    """Where two circles overlap: the outline of a seed."""
    return max(math.hypot(x - offset, y), math.hypot(x + offset, y)) - radius


def shapes(x, y):
    yield leaf(x, y, 250, 90), SHELL
    yield leaf(x, y, 222, 90), INNER
    yield min(segment(x, y, -62, -48, -14, 0, 13), segment(x, y, -14, 0, -62, 48, 13), segment(x, y, 14, 52, 72, 52, 13)), INK


def pixel(x, y):
    edge = rounded_box(x, y, SIZE / 2, SIZE / 2, 112)
    color = BACK
    for distance, ink in shapes(x, y):
        part = max(0.0, min(1.0, 0.5 - distance / SOFT))
        color = tuple(round(a + (b - a) * part) for a, b in zip(color, ink))
    return bytes((*color, round(255 * max(0.0, min(1.0, 0.5 - edge / SOFT)))))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    middle = SIZE / 2 - 0.5
    rows = b"".join(b"\0" + b"".join(pixel(x - middle, y - middle) for x in range(SIZE)) for y in range(SIZE))
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    sys.stdout.buffer.write(png())
