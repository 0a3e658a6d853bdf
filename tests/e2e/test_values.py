"""Variables of one session as sources of import_files of another: every pair of languages, and what is refused."""

import pytest
from harness import Server

FRAMES = {
    "python": "import pandas as pd, numpy as np\n"
              "df = pd.DataFrame({'n': [1, 2**40, -3], 'x': [1.5, np.nan, -0.25], 's': ['a', None, 'größe'], 'b': [True, False, True],\n"
              "    't': pd.to_datetime(['2020-07-01 12:00', None, '1960-01-01 00:00']).tz_localize('Europe/Oslo'), 'c': pd.Categorical(['u', 'v', None])})",
    "r": "df <- data.frame(n = c(1, 2^40, -3), x = c(1.5, NaN, -0.25), s = c('a', NA, 'größe'), b = c(TRUE, FALSE, TRUE),\n"
         "  t = as.POSIXct(c('2020-07-01 12:00:00', NA, '1960-01-01 00:00:00'), tz = 'Europe/Oslo'), c = factor(c('u', 'v', NA)))",
}
SEEN = {  # the frame as one line of text
    "python": ("'|'.join([str([int(n) for n in {0}.n]), str({0}.x[2]), str({0}.x.isna().sum()), {0}.s[2], str({0}.s[1] is None), str(list({0}.b)),"
               " str({0}.t[0].tz_convert('UTC')), str({0}.t.isna().sum()), str(list({0}.c.cat.categories)), str({0}.c.isna().sum())])",
               "\"[1, 1099511627776, -3]|-0.25|1|größe|True|[True, False, True]|2020-07-01 10:00:00+00:00|1|['u', 'v']|1\""),
    "r": ("paste(paste(format({0}$n, scientific = FALSE, trim = TRUE), collapse = ','), {0}$x[3], is.na({0}$x[2]), {0}$s[3], is.na({0}$s[2]), {0}$b[1],"
          " format({0}$t[1], tz = 'UTC'), is.na({0}$t[2]), paste(levels({0}$c), collapse = ','), is.na({0}$c[3]), sep = '|')",
          '[1] "1,1099511627776,-3|-0.25|TRUE|größe|TRUE|TRUE|2020-07-01 10:00:00|TRUE|u,v|TRUE"'),
    "node": ("[{0}.map((r) => r.n).join(), {0}[2].x, Number.isNaN({0}[1].x), {0}[2].s, {0}[1].s, {0}[0].b, {0}[0].t.toISOString(), {0}[1].t, {0}[0].c, {0}[2].c].join('|')",
             "'1,1099511627776,-3|-0.25|true|größe||true|2020-07-01T10:00:00.000Z||u|'"),
}
VECTORS = {"python": "import numpy as np\nv = np.array([1.5, -2.0, 3e300])", "r": "v <- c(1.5, -2, 3e300)", "node": "v = Float64Array.from([1.5, -2, 3e300])"}
VECTOR_SEEN = {"python": ("type({0}).__name__, list(map(float, {0}))", "('ndarray', [1.5, -2.0, 3e+300])"), "r": ("{0}", "[1]   1.5e+00  -2.0e+00  3.0e+300"),
               "node": ("{0}", "Float64Array(3) [ 1.5, -2, 3e+300 ]")}
OBJECTS = {"python": "j = {'a': [1, 2.5, 'ü'], 'b': {'c': None, 'd': True}}", "r": "j <- list(a = list(1, 2.5, 'ü'), b = list(c = NULL, d = TRUE))",
           "node": "j = { a: [1, 2.5, 'ü'], b: { c: null, d: true } }"}
OBJECT_SEEN = {"python": ("__import__('json').dumps({0}, ensure_ascii=False)", '\'{"a": [1, 2.5, "ü"], "b": {"c": null, "d": true}}\''),
               "r": ("paste({0}$a[[3]], {0}$a[[2]], is.null({0}$b$c), {0}$b$d)", '[1] "ü 2.5 TRUE TRUE"'),
               "node": ("JSON.stringify({0})", '\'{"a":[1,2.5,"ü"],"b":{"c":null,"d":true}}\'')}
PICTURES = {"python": "import matplotlib.pyplot as plt\np, ax = plt.subplots(figsize=(3, 2), dpi=100)\nax.plot([1, 2]); plt.close()",
            "r": "library(ggplot2)\noptions(husk.plot.width = 3, husk.plot.height = 2)\np <- ggplot(cars, aes(speed, dist)) + geom_point()",
            "node": "p = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAASwAAADIAQAAAAB6pOH4AAAAMUlEQVR42u3KMQEAAAwCIPuX1gI7FgBu0pdomqZpmqZpmqZpmqZpmqZpmqZpmqZp2mWATZQEFH8x+QAAAABJRU5ErkJggg==', 'base64')"}
PICTURE_SEEN = {"python": ("{0}.size", "(300, 200)"), "r": ("dim({0})", "[1] 200 300"), "node": ("[{0}.readUInt32BE(16), {0}.readUInt32BE(20)]", "[ 300, 200 ]")}
LANGUAGES = ("python", "r", "node")
PAIRS = [(a, b) for a in LANGUAGES for b in LANGUAGES if a != b]


@pytest.fixture(scope="module")
def sessions(engine, tmp_path_factory):
    """Sessions of all languages, of one conversation."""
    with Server(tmp_path_factory.mktemp("values"), engine=engine) as server:
        made = {language: server.session(language=language, network=False) for language in LANGUAGES}
        for language, session in made.items():
            for kinds in (FRAMES, VECTORS, OBJECTS, PICTURES):
                if language in kinds:
                    session.code(kinds[language]).ok()
        yield made


def bring(target, source, variable, destination=None, **more):
    """The result of the only entry."""
    entry = {"session_id": source if isinstance(source, str) else source.id, "variable": variable, **more}
    if destination:
        entry["destination"] = destination
    answer = target.server.call("import_files", {"session_id": target.id, "files": [entry]})
    return answer.fields["files"][0] if answer.fields and "files" in answer.fields else {"success": False, "error": answer.text}


@pytest.mark.parametrize("source, target", PAIRS)
@pytest.mark.parametrize("variable, kinds, seen", [("df", FRAMES, SEEN), ("v", VECTORS, VECTOR_SEEN), ("j", OBJECTS, OBJECT_SEEN), ("p", PICTURES, PICTURE_SEEN)])
def test_a_value_crosses(sessions, source, target, variable, kinds, seen):
    if source not in kinds:
        source = next(one for one in kinds if one != target)  # Node.js has no frames of its own
    result = bring(sessions[target], sessions[source], variable, f"{variable}_{source}")
    assert result["success"] and result["destination"] == f"{variable}_{source}" and result["size"] > 20, result
    code, value = seen[target]
    assert sessions[target].code(code.format(f"{variable}_{source}")).ok().value == value


def test_names_and_files_may_be_mixed(sessions):
    python, r = sessions["python"], sessions["r"]
    files = [{"file_content": "x", "destination": "x.txt"}, {"session_id": r.id, "variable": "v"},
             {"session_id": r.id, "variable": "nothing"}, {"session_id": r.id, "variable": "v", "destination": "w"}]
    done = python.server.call("import_files", {"session_id": python.id, "files": files}).fields["files"]
    assert [one["success"] for one in done] == [True, True, False, True] and "there is no variable 'nothing'" in done[2]["error"]
    assert python.code("len(v) + len(w), open('x.txt').read()").ok().value == "(6, 'x')"
    for session in (python, r):
        assert session.shell("ls -A ~ | grep husk-value").stdout == ""  # nothing is left behind


REFUSED = {
    "a function": ("python", "r", "bad = lambda: 1", "is of the type function"),
    "a set in a list": ("python", "node", "bad = [1, {2}]", "the value[1] is of the type set"),
    "a column of objects": ("python", "r", "import pandas as pd\nbad = pd.DataFrame({'x': [object()]})", "the column 'x' has values of the type object"),
    "an endless number": ("python", "node", "bad = {'a': float('inf')}", "is inf, which JSON does not have"),
    "a big integer": ("python", "r", "bad = 2 ** 70", "beyond 64 bits"),
    "an environment": ("r", "python", "bad <- globalenv()", "is of the class environment"),
    "complex numbers": ("r", "node", "bad <- 1i", "is of the class complex"),
    "a list column": ("r", "python", "bad <- data.frame(x = I(list(1, 2)))", "the column 'x' is of the class AsIs"),
    "a map": ("node", "r", "bad = new Map()", "is of the type Map"),
    "a cycle": ("node", "python", "bad = []; bad.push(bad)", "contains itself"),
    "too much": ("python", "r", "bad = b'x' * (257 << 20)", "at most 256 MB can be copied"),
}


@pytest.mark.parametrize("source, target, code, words", REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_cannot_cross_is_refused_with_the_reason(sessions, source, target, code, words):
    sessions[source].code(code).ok()
    result = bring(sessions[target], sessions[source], "bad")
    assert not result["success"] and words in result["error"], result


@pytest.mark.parametrize("source, variable, destination, words", [
    ("r", "x;y", None, "not a name of a variable"), ("r", "v", "a b", "not a name of a variable"), ("r", "v", "1a", "not a name"),
    ("r", "v", "a.b", "not a name of a variable in python"), ("r", "v", "class", "arrives"), ("python", "v", "w", "same session"),
    ("nobody", "v", None, "nobody"), ("r", "v')", None, "not a name")])
def test_a_wrong_request_is_refused(sessions, source, variable, destination, words):
    given = sessions[source] if source in sessions else source
    result = bring(sessions["python"], given, variable, destination)
    if words == "arrives":  # a keyword of Python is accepted as a name by nothing but the server
        assert result["success"] or "cannot copy" in result["error"]
    else:
        assert not result["success"] and words in result["error"], result


def test_a_session_of_another_conversation_is_refused(sessions, start):
    other = start().session(network=False)
    other.code("v = 1").ok()
    result = bring(sessions["r"], other, "v")
    assert not result["success"] and "conversation" in result["error"] + result.get("hint", "") or "not found" in result["error"].lower(), result


def test_damaged_values_are_refused(sessions):
    """A session writes the file itself, so it can contain anything."""
    python, r, node = (sessions[one] for one in LANGUAGES)
    for body in ("b'junk'", "b'{\"husk_value\": 1, \"kind\": \"frame\", \"rows\": 1e9, \"columns\": [{}]}\\n'",
                 "b'{\"husk_value\": 1, \"kind\": \"vector\", \"rows\": 5, \"columns\": [{\"name\": \"\", \"type\": \"float64\"}]}\\n12'",
                 "b'{\"husk_value\": 1, \"kind\": \"json\"}\\n{'"):
        python.code(f"import husk_values\nhusk_values.give = lambda name, path: open(path, 'wb').write({body})").ok()
        for target in (r, node):
            result = bring(target, python, "v")
            assert not result["success"] and "is damaged" in result["error"], (body, result)
    python.code("husk_values.give = lambda name, path: None").ok()
    assert not bring(r, python, "v")["success"]
    python.code("import importlib; importlib.reload(husk_values)").ok()
    assert bring(r, python, "v")["success"]


def test_a_busy_interpreter_is_waited_for(sessions):
    python, r = sessions["python"], sessions["r"]
    running = python.start_code("import time; time.sleep(1)\nlate = [7]", 60)
    assert bring(r, python, "late")["success"]
    running.tool()
    assert r.code("late").ok().value == "[1] 7"


def test_a_cancelled_copy_ends_and_leaves_nothing(sessions):
    python, node = sessions["python"], sessions["node"]
    running = python.start_code("import time; time.sleep(1)\nv = v", 60)
    asked = node.server.start_call("import_files", {"session_id": node.id, "files": [{"session_id": python.id, "variable": "v"}]})
    node.server.cancel(asked)
    assert running.tool().ok() and python.code("1").ok()
    assert bring(node, python, "v")["success"]
    for session in (python, node):
        assert session.shell("ls -A ~ | grep husk-value").stdout == ""


def test_a_death_on_the_way_is_reported(sessions):
    python, node = sessions["python"], sessions["node"]
    python.code("import os\nclass Bad:\n    def to_pandas(self): os._exit(1)\nbad = Bad()").ok()
    result = bring(node, python, "bad")
    assert not result["success"] and "kernel_died" in result["error"], result


def test_it_works_over_http_too(serving):
    python, node = serving.create(), serving.create(language="node")
    serving.run(python, "x = {'a': 1}")
    body = {"files": [{"session": python, "variable": "x", "destination": "y"}]}
    done = serving.call("POST", f"/v1/sessions/{node}/imports", body).ok().json
    assert done["success"] and done["files"][0]["path"] == "y", done
    wrong = serving.call("POST", f"/v1/sessions/{node}/imports", {"files": [{"session": python, "variable": "x", "path": "/workspace/a"}]})
    assert wrong.status == 400 and "session and variable" in wrong.json["detail"]
