"""Random programs of cells, checkpoints, undo, branches, keep and kills, compared with a model that runs the same cells
in plain Python. HUSK_TEST_LONG=1 runs more of them, and a session of 10,000 cells.
"""

import os
import random

import pytest

from container import Container

LONG = bool(os.environ.get("HUSK_TEST_LONG"))
PROGRAMS = 1000 if LONG else 30
SEED = int(os.environ.get("HUSK_TEST_SEED", "1"))
STEPS = 24
# Every program begins at a checkpoint of the name ORIGIN after this cell.
ORIGIN = "origin"
LOAD = "import matplotlib\nmatplotlib.use('agg')\nfrom matplotlib.figure import Figure"
BEGIN = "import random, math\nnumbers = []; table = {}; plots = 0; drawn = []; random.seed(7)"
DUMP = "print(repr((numbers, sorted(table.items(), key=str), plots, len(drawn), sum(random.getstate()[1]))))"
PLOT = "plots += 1\ndrawn.append(Figure().subplots().plot([1, plots])[0])"


class Model:
    """Which cells are in each interpreter, by their run's number, and what variables they leave behind."""

    def __init__(self, origin):
        self.cells = {origin: ""}
        self.main = [origin]
        self.saved = {ORIGIN: [origin]}
        self.branches = {}

    def dump(self, runs):
        names, state = {}, random.getstate()
        printed = []
        names["print"] = printed.append
        for run in runs:
            exec(self.cells[run], names)
        exec(DUMP, names)
        random.setstate(state)
        return printed[0] + "\n"


class Program:
    def __init__(self, client, origin, seed):
        self.client, self.rng, self.model, self.log = client, random.Random(seed), Model(origin), []

    def cell(self, code, branch=None, model=None):
        """Runs a cell, which the model has too, and returns its reply."""
        runs = self.model.main if branch is None else self.model.branches.setdefault(branch, list(self.model.main))
        reply = self.client.execute(code, **({"branch": branch} if branch else {}))
        self.model.cells[self.client.number] = code if model is None else model
        runs.append(self.client.number)
        return reply

    def check(self, branch=None):
        before = list(self.model.main if branch is None else self.model.branches.get(branch, self.model.main))
        shown = self.cell(DUMP, branch, "")
        assert shown.ending == "ok" and shown.out.decode() == self.model.dump(before), (branch, shown.end, self.log)

    def where(self):
        return self.rng.choice([None, None, *self.model.branches, *(["e"] if self.rng.random() < 0.1 else [])])

    def assign(self):
        n, code = self.rng.randrange(1000), self.rng.choice(
            ["numbers.append({})", "table[{}] = math.sqrt({})", "numbers = sorted(numbers + [random.randrange(9 + {})])",
             "table = dict(table, a={})", "del numbers[{} % 3:]", "random.seed({})"])
        assert self.cell(code.format(n, n), self.where()).ending == "ok"

    def draw(self):
        assert self.cell(PLOT, self.where(), "plots += 1; drawn.append(plots)").ending == "ok"

    def save(self):
        name = self.rng.choice("stuv")
        answer = self.client.checkpoint("save", name=name)
        assert answer["status"] == "ok", (answer, self.log)
        self.model.saved[name] = list(self.model.main)

    def undo(self):
        name = self.rng.choice(list(self.model.saved))
        answer = self.client.checkpoint("undo", name=name)
        assert answer["status"] == "ok", (answer, self.log)
        missing = [run for run in self.model.main if run not in self.model.saved[name]]
        assert answer["restored"]["missing"] == missing, (answer, missing, self.log)
        self.model.main = list(self.model.saved[name])
        self.begin_again()

    def branch(self):
        name = self.rng.choice("abcd")
        answer = self.client.checkpoint("branch", names=[name])
        assert answer["status"] == ("invalid" if name in self.model.branches else "ok"), (answer, self.log)
        self.model.branches.setdefault(name, list(self.model.main))

    def keep(self):
        if not self.model.branches or self.rng.random() < 0.5:
            return
        name = self.rng.choice(list(self.model.branches))
        answer = self.client.checkpoint("keep", name=name)
        assert answer["status"] == "ok" and sorted(answer["dropped"]) == sorted(set(self.model.branches) - {name}), (answer, self.log)
        assert answer["restored"]["missing"] == [run for run in self.model.main if run not in self.model.branches[name]]
        self.model.main = self.model.branches[name]
        self.model.branches.clear()

    def drop(self):
        names = [name for name in (*self.model.branches, *self.model.saved) if name != ORIGIN]
        if names:
            name = self.rng.choice(names)
            assert self.client.checkpoint("drop", name=name)["status"] == "ok"
            self.model.branches.pop(name, None)
            self.model.saved.pop(name, None)

    def kill(self):
        branch = self.rng.choice([None, None, *self.model.branches])
        before = list(self.model.main)
        reply = self.cell(self.rng.choice(["import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)"]), branch, "")
        assert reply.ending == "kernel_died", (reply.end, self.log)
        if branch:
            assert f"The branch '{branch}' has ended with it." in reply.detail
            del self.model.branches[branch]
            return
        restored, dead = reply.end["restored"], self.model.main
        if "name" in restored:
            self.model.main = list(self.model.saved[restored["name"]])
        else:
            self.model.main = before[: before.index(restored["run"]) + 1]
        assert restored["missing"] == [run for run in dead if run not in self.model.main], (restored, self.log)
        self.begin_again()

    def begin_again(self):
        if len(self.model.main) == 1:
            self.cell(BEGIN)

    def run(self):
        self.cell(BEGIN)
        steps = [*[self.assign] * 8, *[self.save, self.undo, self.branch] * 2, self.draw, self.keep, self.drop, self.kill]
        for _ in range(STEPS):
            step = self.rng.choice(steps)
            self.log.append(step.__name__)
            step()
            self.check(self.where())
        for branch in (None, *self.model.branches):
            self.check(branch)


def clear(client):
    status = client.status()
    for one in [*status["branches"], *status["checkpoints"]]:
        if one.get("name") not in (None, ORIGIN):
            assert client.checkpoint("drop", name=one["name"])["status"] == "ok"
    assert client.checkpoint("undo", name=ORIGIN)["status"] == "ok"


@pytest.fixture(scope="module")
def shared():
    with Container("python") as container:
        assert container.client.execute(LOAD, timeout_ms=120_000).ending == "ok"
        assert container.client.checkpoint("save", name=ORIGIN)["status"] == "ok"
        yield container


def test_random_programs_leave_the_variables_of_the_model(shared):
    for seed in range(SEED * 10_000, SEED * 10_000 + PROGRAMS):
        clear(shared.client)
        try:
            Program(shared.client, 1, seed).run()
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    clear(shared.client)


def used(client):
    return client.status()["memory"]


def test_memory_stays_flat_over_many_cells(shared):
    """With automatic checkpoints, and from time to time a named one, an undo, two branches and a kept one."""
    client = shared.client
    cells = 10_000 if LONG else 300
    clear(client)
    client.execute("x = bytearray(1 << 20); n = 0")
    before = None
    for i in range(1, cells + 1):
        assert client.execute("x[n % len(x)] = 1; n += 1").ending == "ok"
        if i % 50 == 0:
            assert client.checkpoint("save", name="s")["status"] == "ok"
            client.execute("n += 1", branch="a")
            client.execute("n += 1", branch="b")
            assert client.checkpoint("keep", name="a")["status"] == "ok"
            assert client.checkpoint("undo", name="s")["status"] == "ok"
        if i == 100:
            before = used(client)
    assert client.execute("print(n)").out == b"%d\n" % cells
    assert used(client) < before + (30 << 20)
    clear(client)
    assert [one["name"] for one in client.status()["checkpoints"] if "name" in one] == [ORIGIN] and not client.status()["branches"]
