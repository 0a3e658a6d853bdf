"""A session of the R runtime's image that runs cells, behind the real PID 1."""

from container import Container, frames
from link_harness import Queries, Outcome, check_bundle

SECONDS = 60
QUERIES_MAX = 5
KINDS = {frames.OUT: "stdout", frames.ERR: "stderr", frames.DISPLAY: "display", frames.RESULT: "result", frames.ERROR: "error"}


class Session(Container, Queries):
    """An R session that runs cells."""

    def __init__(self):
        super().__init__("r")

    def query(self, kind, code, cursor=None, **more):
        """PID 1 cancels a query after four seconds. On a busy machine the first queries, which load R packages, may
        take longer. So they are repeated, and then find the packages loaded.
        """
        for _ in range(QUERIES_MAX):
            answer = self.client.query_answer(kind, code, cursor=len(code) if cursor is None else cursor, **more)
            if answer["status"] != "timeout":
                break
        return answer

    def begin(self, code, seconds=SECONDS, **more):
        return self.client.start(frames.EXECUTE, code, timeout_ms=1000 * seconds, **more)

    def run_answered(self, code, *answers):
        """Runs a cell with prompts, answers them, and returns the outcome and the prompts."""
        number = self.begin(code, interactive=True)
        prompts = []
        for nth, text in enumerate(answers, 1):
            prompts.append(self.client.wait_prompt(number)["prompt"])
            self.client.type(number, nth, text)
        return self.finish(number), prompts

    def run_interrupted_question(self, code):
        number = self.begin(code, interactive=True)
        self.client.wait_prompt(number)
        self.client.send(frames.INTERRUPT, number)
        return self.finish(number)

    def finish(self, number):
        reply = self.client.finish(number, 2 * SECONDS)
        outcome = Outcome()
        for frame in reply.frames:
            if frame.type in KINDS:
                is_place = frame.type == frames.DISPLAY and frame.payload == {**frame.payload, "data": {}}
                if frame.type in (frames.DISPLAY, frames.RESULT) and not is_place:
                    check_bundle(frame.payload["data"])
                outcome.add(KINDS[frame.type], frame.payload)
        outcome.end = reply.end
        return outcome

    def run(self, code, seconds=SECONDS):
        return self.finish(self.begin(code, seconds))

    def run_interrupted(self, code):
        """Runs a cell that prints `go` when it is ready to be interrupted."""
        number = self.begin(code)
        go = self.client.expect(lambda f: f.call == number and f.type == frames.OUT and b"go" in f.payload)
        self.client.send(frames.INTERRUPT, number)
        outcome = self.finish(number)
        outcome.log.insert(0, ("stdout", go.payload))
        assert outcome.end["ending"] == "interrupted" and outcome.end["kernel"] == "kept", outcome.end
        return outcome

    def terminal(self, command):
        return self.client.terminal(command, timeout_ms=1000 * SECONDS)
