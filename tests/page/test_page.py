"""The page in Debian's Chromium: real sessions, real runs. `make test-long PARTS=page` has more."""


# evidence: page-frames
def test_a_person_uses_a_session(serve, play):
    play("short.mjs", serve())


# evidence: ports-origin
def test_a_server_of_a_session_cannot_act_as_the_page(serve, play):
    play("ports.mjs", serve())


def test_a_person_changes_the_network_and_goes_back(serve, play):
    play("changes.mjs", serve())
