"""The page at length, in Chromium and in Firefox: attacks, keys, every screen in both themes and sizes, load, and a
server that is killed. `make test-long PARTS=page` runs it.
"""

import pytest

pytestmark = pytest.mark.timeout(900)
CHARS = 4 << 20


# evidence: page-frames
def test_nothing_that_a_session_sends_runs_in_the_page(serve, play):
    play("attacks.mjs", serve())


def test_a_first_visit_without_a_mouse_and_every_screen(serve, play):
    print(play("tour.mjs", serve()))


def test_an_editor_in_the_terminal_and_long_output_and_a_branch(serve, play):
    play("editor.mjs", serve())


def test_much_of_everything_and_a_killed_server(serve, begin, tmp_path):
    serving = serve(home=tmp_path / "home", MAX_STDOUT_CHARS=str(CHARS))
    scenario = begin("load.mjs", serving)
    for line in scenario.stdout:
        print(line, end="")
        if line == "KILL\n":
            serving.kill()
            serve(home=tmp_path / "home", port=serving.port, MAX_STDOUT_CHARS=str(CHARS))
    assert scenario.wait() == 0, scenario.errors.read_text()


def test_the_page_in_firefox(serve, play):
    play("firefox.mjs", serve())
