"""The session that the rows of the table of behaviours run in."""

import contextlib
import json
import pathlib
import subprocess

import languages


class RowSession:
    """A session of one language, with that language's column of the table."""

    def __init__(self, server, language, column):
        self.server = server
        self.language = language
        self.column = column
        self.dead = False  # its session has ended
        self.stock = language in languages.contrib_columns()  # a Jupyter kernel, which knows nothing of Husk
        self.plain = server.session(language=language, network=False)
        self.code, self.shell, self.start_code = self.plain.code, self.plain.shell, self.plain.start_code

    def mark(self):
        """Sets the variable and writes the file that kept() and lost() look for."""
        self.code(self.column["state"]["set"]).ok()
        self.shell("echo kept >/workspace/kept").ok()

    def own(self, text):
        """The cell's own output, without errors that some kernels print and line ends that they add when interrupted."""
        return text.partition("\n")[0] + "\n" if self.stock else text

    def kept(self):
        """Checks that the interpreter is still the same one, and works."""
        ended = self.code(self.column["state"]["get"]).ok()
        assert shown(ended) == self.column["state"]["value"], ended.text

    def lost(self, after=None):
        """Checks that there is another interpreter in the old container, and that both work. `after` is the answer that
        says so: a restored interpreter may have the variables.
        """
        ended = self.code(self.column["state"]["get"])
        restored = after is not None and "restored" in after.fields
        assert restored or ended.ending == "error" or (self.stock and shown(ended) != self.column["state"]["value"]), ended.text
        assert self.shell("cat /workspace/kept").ok().stdout == "kept\n"
        self.mark()
        self.kept()

    def run_program(self, code, text):
        """Runs a file with `husk run`, with this text as its standard input."""
        manifest, = (pathlib.Path(__file__).parents[2] / "runtimes").glob(f"**/{self.language}/runtime.json")
        file = self.server.home / f"program{json.loads(manifest.read_text())['extension']}"
        file.write_text(code)
        return subprocess.run([self.server.process.args[0], "run", "--alone", "--language", self.language, file], input=text, env=self.server.env,
                              capture_output=True, text=True, timeout=60)

    @contextlib.contextmanager
    def another(self):
        other = RowSession(self.server, self.language, self.column)
        yield other
        assert other.plain.stop().success is True


def shown(ended):
    """The value, or the printed text if the kernel has no values."""
    return ended.stdout.removesuffix("\n") if ended.value is None else ended.value
