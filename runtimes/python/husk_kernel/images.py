"""Pictures within the limits of their readers: scaled down or re-encoded if they are too large."""

import base64
import io
import struct

BYTES_MAX = 700_000
PIXELS_MAX = 2000  # each side
_ENCODED_MAX = BYTES_MAX // 3 * 4
_TRIES = 6


def png_size(data):
    """Width and height from the header."""
    return struct.unpack(">II", data[16:24]) if data[:8] == b"\x89PNG\r\n\x1a\n" else (0, 0)


def fit(mime, encoded):
    """Return a base64 PNG or JPEG within the limits, with its type. Data that cannot be decoded is left unchanged."""
    try:
        if len(encoded) <= _ENCODED_MAX and mime == "image/png" and max(png_size(base64.b64decode(encoded[:32]))) <= PIXELS_MAX:
            return mime, encoded
        data = base64.b64decode(encoded, validate=True)
        kind, smaller = _shrink(data, mime)
    except Exception:  # no Pillow, or not a picture
        return mime, encoded
    return (mime, encoded) if smaller is data else (kind, base64.b64encode(smaller))


def _shrink(data, mime):
    from PIL import Image  # takes a tenth of a second, so it is imported only if needed

    picture = Image.open(io.BytesIO(data))
    if len(data) <= BYTES_MAX and max(picture.size) <= PIXELS_MAX:
        return mime, data
    side = PIXELS_MAX
    for attempt in range(_TRIES):
        picture.thumbnail((side, side))
        # The first attempt keeps the format, which may be lossless. Photographs often stay too large as PNG.
        kind = mime if attempt == 0 else "image/jpeg"
        smaller = _encode(picture, kind)
        if len(smaller) <= BYTES_MAX:
            break
        side = int(max(picture.size) * (1 if attempt == 0 else 0.7))
    return kind, smaller


def _encode(picture, kind):
    out = io.BytesIO()
    if kind == "image/png":
        picture.save(out, "PNG")
    else:
        if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
            from PIL import Image

            paper = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(paper, picture.convert("RGBA"))
        picture.convert("RGB").save(out, "JPEG", quality=85)
    return out.getvalue()
