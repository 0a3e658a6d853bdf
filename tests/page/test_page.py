"""The page in Debian's Chromium: real sessions, real runs. `make test-long PARTS=page` has more."""


# evidence: page-frames
def test_a_person_uses_a_session(serve, play):
    play("short.mjs", serve())
