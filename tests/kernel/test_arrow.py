"""Programs that end while a thread of pyarrow still reads a Python file."""

import pytest
from container import Container

# The threads read ahead. From the fourth block on the file is slow, and the program has ended by then.
READ_AHEAD = """
import io, pyarrow.csv, time
class Slow(io.BytesIO):
    reads = 0
    def read(self, size=-1):
        Slow.reads += 1
        if Slow.reads > 3:
            time.sleep(0.1)
        return super().read(size)
options = pyarrow.csv.ReadOptions(block_size=1000)
reader = pyarrow.csv.open_csv(Slow(b"a\\n" + b"1\\n" * 10_000), read_options=options)
print(reader.read_next_batch().num_rows)
"""
PARQUET = """
import io, pandas
file = io.BytesIO()
pandas.DataFrame({"a": [1]}).to_parquet(file)
file.seek(0)
print(pandas.read_parquet(file).a[0])
"""


@pytest.fixture(scope="module")
def box():
    with Container("python") as box:
        yield box


@pytest.mark.parametrize("program, output", [(READ_AHEAD, b"499\n"), (PARQUET, b"1\n")])
def test_a_program_that_ends_while_pyarrow_reads_exits_normally(box, program, output):
    reply = box.client.terminal(f"cat >program.py <<'E'\n{program}E\npython3 program.py; echo exit $?")
    assert (reply.out, reply.err) == (output + b"exit 0\n", b"")


def test_python_ends_at_once_without_pyarrow(box):
    reply = box.client.terminal("python3 -X importtime -c '' 2>&1 | grep -c -E 'ctypes|pyarrow'")
    assert reply.out == b"0\n"
