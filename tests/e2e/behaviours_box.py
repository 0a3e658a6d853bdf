"""The session that the rows of the table of behaviours run in."""

import contextlib

import languages


class Box:
    """A session of one language with what that language's column says about it."""

    def __init__(self, server, language, column):
        self.server = server
        self.language = language
        self.column = column
        self.dead = False  # its session has ended
        self.stock = language in languages.contrib_columns()  # a Jupyter kernel, which knows nothing of Husk
        self.session = server.session(language=language, network=False)
        self.code, self.shell, self.start_code = self.session.code, self.session.shell, self.session.start_code

    def mark(self):
        """Sets the variable and writes the file that kept() and lost() look for."""
        self.code(self.column["state"]["set"]).ok()
        self.shell("echo kept >/workspace/kept").ok()

    def own(self, text):
        """The cell's own output, without errors that some kernels print and line ends that they add when interrupted."""
        return text.partition("\n")[0] + "\n" if self.stock else text

    def kept(self):
        """The interpreter is the same one, and works."""
        ended = self.code(self.column["state"]["get"]).ok()
        assert shown(ended) == self.column["state"]["value"], ended.text

    def lost(self):
        """There is a new interpreter in the old container, and both work."""
        ended = self.code(self.column["state"]["get"])
        assert ended.ending == "error" or (self.stock and shown(ended) != self.column["state"]["value"]), ended.text
        assert self.shell("cat /workspace/kept").ok().stdout == "kept\n"
        self.mark()
        self.kept()

    @contextlib.contextmanager
    def another(self):
        other = Box(self.server, self.language, self.column)
        yield other
        assert other.session.stop().success is True


def shown(ended):
    """A value, or what is printed where the kernel has no values."""
    return ended.stdout.removesuffix("\n") if ended.value is None else ended.value
