"""Text for the link."""


def valid_text(text):
    """Text that every reader accepts: no lone surrogates, no NULs."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text
