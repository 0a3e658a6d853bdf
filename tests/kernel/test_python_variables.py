"""Parts of the Python kernel that can be tested without a kernel: the listing of variables, the environment of one
run. Each test states one fact.
"""

import os
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtimes" / "python"))

from husk_kernel.environment import Environment  # noqa: E402
from husk_kernel.variables import listing  # noqa: E402


def described(value):
    (entry,) = listing({"x": value})["variables"]
    return entry


def test_built_in_values_have_a_type_a_length_and_bytes():
    assert described("abc") == {"name": "x", "type": "str", "length": 3, "bytes": sys.getsizeof("abc")}
    assert described([]) == {"name": "x", "type": "list", "length": 0, "bytes": sys.getsizeof([])}
    assert described(5)["type"] == "int" and "length" not in described(5)
    assert described(None)["type"] == "NoneType"


def test_elements_of_containers_count():
    assert described(["x" * 10_000] * 1000)["bytes"] > 10_000_000
    assert described({n: b"y" * 10_000 for n in range(1000)})["bytes"] > 10_000_000


def test_arrays_and_tables_have_a_shape():
    import numpy
    import pandas

    assert described(numpy.zeros((3, 4))) == {"name": "x", "type": "numpy.ndarray", "shape": [3, 4], "dtype": "float64", "bytes": 96}
    table = described(pandas.DataFrame({"a": [1, 2], "b": [1.5, 2]}))
    assert table == {"name": "x", "type": "pandas.DataFrame", "shape": [2, 2], "bytes": 32}
    assert described(pandas.Series([1, 2]))["shape"] == [2]


def test_biggest_first_and_a_number_of_the_rest():
    found = listing({f"v{n:03}": "x" * n for n in range(200)}, count=50)
    assert [entry["name"] for entry in found["variables"]] == [f"v{n:03}" for n in range(199, 149, -1)] and found["more"] == 150


def test_functions_and_objects_come_last_with_their_type():
    class Own:
        pass

    found = listing({"f": described, "o": Own(), "s": "x", "c": Own})["variables"]
    assert [(entry["name"], entry["type"]) for entry in found] == [
        ("s", "str"), ("c", "type"), ("f", "function"), ("o", "test_python_variables.Own")]


def test_modules_private_names_and_what_is_not_the_users_are_left_out():
    mine = []
    names = {"sys": sys, "_": 1, "_i3": "x", "In": mine, "changed": 5, 7: 8}
    found = listing(names, hidden={"In": mine, "changed": 4})["variables"]
    assert [entry["name"] for entry in found] == ["changed"]


def test_no_code_of_the_user_runs():
    def refuse(*_args):
        raise AssertionError("called")

    class Meta(type):
        __name__ = property(refuse)
        __module__ = property(refuse)
        __getattribute__ = __instancecheck__ = __subclasscheck__ = __eq__ = __hash__ = refuse

    class Hostile(metaclass=Meta):
        __getattribute__ = __len__ = __sizeof__ = __eq__ = __hash__ = __repr__ = __bool__ = __iter__ = __class_getitem__ = refuse
        shape = nbytes = dtype = property(refuse)

    class DataFrame(Hostile):
        pass

    class Words(str):
        __len__ = __sizeof__ = refuse

    class Deep(list):
        __len__ = __iter__ = __sizeof__ = refuse

    found = listing({"a": Hostile(), "b": DataFrame(), "c": Words(), "d": Deep(), "e": [Hostile()] * 3, "f": {1: Hostile()}, "g": Hostile})
    assert {entry["name"]: entry["type"].rpartition(".")[2] for entry in found["variables"]} == {
        "a": "Hostile", "b": "DataFrame", "c": "Words", "d": "Deep", "e": "list", "f": "dict", "g": "Meta"}


def test_time_is_bounded():
    names = {f"v{n}": n for n in range(30)}
    assert listing(names, seconds=-1) == {"variables": [], "more": 30} and "more" not in listing(names, seconds=600)


def test_long_names_are_cut():
    assert len(described("")["name"]) == 1 and len(listing({"x" * 1000: 1})["variables"][0]["name"]) == 100


# The environment of one run


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.setenv("HAD", "before")
    for name in ("NEW", "OTHER"):
        monkeypatch.delenv(name, raising=False)


def test_environment_variables_are_set_and_restored():
    with Environment({"HAD": "now", "NEW": "1"}):
        assert os.environ["HAD"] == "now" and os.popen("echo $NEW").read() == "1\n"
    assert os.environ["HAD"] == "before" and "NEW" not in os.environ


def test_environment_variables_are_restored_after_a_failure():
    with pytest.raises(ZeroDivisionError), Environment({"NEW": "1"}):
        raise ZeroDivisionError
    assert "NEW" not in os.environ


def test_changes_by_the_cell_are_kept():
    with Environment({"HAD": "now", "NEW": "1", "OTHER": "2"}):
        os.environ["HAD"] = "mine"
        os.environ["NEW"] = "mine too"
        del os.environ["OTHER"]
    assert os.environ["HAD"] == "mine" and os.environ["NEW"] == "mine too" and "OTHER" not in os.environ


def test_names_and_values_that_cannot_be_set_are_ignored():
    with Environment({"": "x", "A=B": "x", "A\0": "x", "NEW": "a\0b", "OTHER": 5}):
        assert "NEW" not in os.environ and "OTHER" not in os.environ


def test_time_zone_takes_effect():
    with Environment({"TZ": "Asia/Tokyo"}):
        assert time.localtime(0).tm_hour == 9
    assert time.localtime(0).tm_hour == 0


def test_without_variables_nothing_changes():
    with Environment(None):
        pass
