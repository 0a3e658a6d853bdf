"""Draws a recording of a terminal as an animated SVG: each command is typed, then its output appears line by line.

The commands are really run, in the environment of a server (`make screenshots`)."""

import html
import subprocess

COMMANDS = [
    "echo 'print(sum(n * n for n in range(10)))' | husk run -",
    "echo 'console.log(process.version, [1, 2, 3].map((n) => n * n))' | husk run --language node -",
    "echo 'open(\"/etc/passwd\", \"a\")' | husk run -    # the system is read-only",
    "husk ps",
    "husk stop viz",
]
WIDTH, LINE, LEFT, COLUMNS = 800, 20, 20, 92
TYPE_S, LINE_S, PAUSE_S = 0.03, 0.08, 0.9
STYLE = ("text{font:14px ui-monospace,'DejaVu Sans Mono',monospace;fill:#e7e8ea;white-space:pre}.sign{fill:#4cc38a}.answer{fill:#9aa0a8}"
         "@media(prefers-reduced-motion:no-preference){.t{opacity:0;animation:show 0s linear forwards}}@keyframes show{to{opacity:1}}")


def run(command, env):
    done = subprocess.run(["bash", "-c", command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120, check=False)
    return done.stdout.rstrip("\n").split("\n") if done.stdout else []


def draw(env):
    parts, at, y = [], 0.5, 2 * LINE
    for command in COMMANDS:
        typed = "".join(f'<tspan class="t" style="animation-delay:{at + i * TYPE_S:.2f}s">{html.escape(c)}</tspan>' for i, c in enumerate(command))
        parts.append(f'<text x="{LEFT}" y="{y}" xml:space="preserve"><tspan class="t sign" style="animation-delay:{at:.2f}s">$ </tspan>{typed}</text>')
        at += len(command) * TYPE_S + 0.3
        y += LINE
        for line in run(command, env):
            parts.append(f'<text class="t answer" x="{LEFT}" y="{y}" style="animation-delay:{at:.2f}s" xml:space="preserve">'
                         f'{html.escape(line[:COLUMNS])}</text>')
            at += LINE_S
            y += LINE
        at += PAUSE_S
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"><style>{STYLE}</style>'
            f'<rect width="100%" height="100%" rx="8" fill="#141517"/>{"".join(parts)}</svg>\n')
