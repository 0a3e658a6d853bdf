"""Text for the link."""


def valid_text(text):
    """Return the text without lone surrogates and NULs, which some readers reject."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text
