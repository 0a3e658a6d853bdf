#include "cli/verbs.h"

/* Lists in the table end with an empty entry. */
#define TEXT(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define OPTIONS(...) ((const struct help_option[]){ __VA_ARGS__, { 0 } })
#define PAIRS(...) ((const struct help_pair[]){ __VA_ARGS__, { 0 } })

enum { GROUP_SERVE, GROUP_CODE, GROUP_SESSIONS, GROUP_SETUP };

static const char *const groups[] = {
	[GROUP_SERVE] = "Serve sessions to other programs",
	[GROUP_CODE] = "Run code in a session",
	[GROUP_SESSIONS] = "List sessions, runs and exports",
	[GROUP_SETUP] = "Set up and check",
	NULL,
};

static const struct help_option common_options[] = {
	{ "env-file", "FILE",
	  "Read settings from FILE (NAME=value lines) instead of $XDG_CONFIG_HOME/husk/.env. FILE must exist." },
	{ "help", NULL, "Print this help and exit.", 'h' },
	{ "version", NULL, "Print name and version and exit.", 'V' },
	{ 0 },
};

/* --- shared by several verbs ------------------------------------------------------------------------------------- */

#define CODE_DONE                                                                                                      \
	{                                                                                                              \
		"0", "Done."                                                                                           \
	}
#define CODE_NO_SESSION                                                                                                \
	{                                                                                                              \
		"1", "There is no such session."                                                                       \
	}
#define CODE_USAGE                                                                                                     \
	{                                                                                                              \
		"64", "Wrong usage, or a bad setting."                                                                 \
	}
#define CODE_SYSTEM                                                                                                    \
	{                                                                                                              \
		"111", "The system, the engine or the store failed."                                                   \
	}

#define SESSION_TEXT "SESSION is the id of a session, the beginning of its id, or its name; husk ps lists sessions."

/* Options of verbs that create a session. */
#define FRESH_OPTIONS                                                                                                  \
	{ "dependency", "NAME[==VERSION]", "Install this package first. Can be repeated.", 'd' },                      \
		{ "env", "NAME=VALUE", "Set a variable in the session's environment. Can be repeated." },              \
		{ "secret", "NAME", "Let the session use this secret (husk secret). Can be repeated." },               \
		{ "memory", "SIZE", "Memory of the session, such as 4g, up to CONTAINER_MEMORY_MAX." },                \
		{ "cpus", "N", "CPUs of the session, such as 1.5, up to CONTAINER_CPUS_MAX." },                        \
		{ "disk", "SIZE", "Size of the home directory, such as 10g, up to CONTAINER_DISK_MAX." },              \
		{ "image", "NAME", "Use this image of CONTAINER_IMAGES instead of the language's own." },              \
		{ "network", "NAME", "Reach only this host, or set of hosts such as @python. Can be repeated." },      \
	{                                                                                                              \
		"no-network", NULL, "Run without the network."                                                         \
	}

#define JSON_OPTION                                                                                                    \
	{                                                                                                              \
		"json", NULL, "Print one JSON object."                                                                 \
	}

/* --- the table --------------------------------------------------------------------------------------------------- */

static const struct help_verb verbs[N_VERBS] = {
	[VERB_MCP] = {
		.name = "mcp",
		.group = GROUP_SERVE,
		.summary = "Serve the Model Context Protocol on stdin and stdout",
		.usage = TEXT("[OPTION]..."),
		.text = TEXT(
			"A client such as Claude Code starts it. Messages are JSON-RPC, one per line. The server contacts no "
			"engine and writes no file before the first session.",
			"It ends when its input ends, or on SIGINT, SIGTERM or SIGHUP. Its sessions and their runs continue, and the "
			"next server of the same conversation takes them over. A session that no server takes over ends with "
			"its lease (SESSION_LEASE_SECONDS)."),
		.options = OPTIONS(
			{ "allow", "DIR", "Let the model import files from this folder, an absolute path. Can be repeated." }),
		.examples = PAIRS(
			{ "claude mcp add husk -- /usr/local/bin/husk mcp", "Add Husk to Claude Code." },
			{ "husk mcp --allow /srv/data", "Also let the model import files from /srv/data." }),
		.codes = PAIRS({ "0", "The input ended, or a signal asked it to end." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_SERVE] = {
		.name = "serve",
		.group = GROUP_SERVE,
		.summary = "Serve the HTTP API and MCP over HTTP",
		.usage = TEXT("[OPTION]..."),
		.text = TEXT(
			"Programs in any language and clients on other machines use it: /v1 is the API, /mcp is MCP over HTTP. "
			"docs/http.md describes both. Every request needs a key. The first start makes one for this user, keeps "
			"it in a file that only this user can read, and prints how to connect clients; husk keys makes more.",
			"It answers for all sessions of this user, also for those of other servers on this machine. It ends on "
			"SIGINT, SIGTERM or SIGHUP; its sessions and their runs continue."),
		.options = OPTIONS(
			{ "listen", "ADDRESS:PORT", "Listen there instead of on 127.0.0.1:8765. Port 0 chooses a free one." },
			{ "unix", "PATH", "Also listen on this unix socket, without keys, for programs of this user." },
			{ "tls-cert", "FILE", "Use TLS with this certificate chain (PEM)." },
			{ "tls-key", "FILE", "The private key of the certificate (PEM)." },
			{ "behind-proxy", NULL, "Allow plain HTTP on an address that is not loopback, because a proxy terminates TLS." },
			{ "allow-host", "HOST[:PORT]", "Also accept requests for this name of the machine or of its proxy. Can be repeated." },
			{ "allow", "DIR", "Let local programs import files from this folder, an absolute path. Can be repeated." }),
		.examples = PAIRS(
			{ "husk serve", "Serve programs on this machine." },
			{ "husk serve --listen 0.0.0.0:8765 --tls-cert c.pem --tls-key k.pem",
			  "Serve other machines, which use the address." },
			{ "husk serve --listen 0.0.0.0:80 --behind-proxy --allow-host box.example.com",
			  "Serve other machines through a proxy, which uses this name." }),
		.codes = PAIRS({ "0", "A signal asked it to end." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_UI] = {
		.name = "ui",
		.group = GROUP_SERVE,
		.summary = "Open the page of a running husk serve in a browser",
		.usage = TEXT("[--print]"),
		.text = TEXT(
			"The page shows all sessions while they work. docs/page.md describes it. The address logs the browser in. "
			"It works once, within five minutes. The list of keys then has a key for this browser; removing it logs the "
			"browser out."),
		.options = OPTIONS({ "print", NULL, "Print the address instead of opening a browser." }),
		.examples = PAIRS({ "husk ui --print", "Print an address, for example for a browser on another machine." }),
		.codes = PAIRS(CODE_DONE, { "1", "No husk serve of this user is running." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_JUPYTER] = {
		.name = "jupyter",
		.group = GROUP_SERVE,
		.summary = "Use a session from Jupyter, or add Husk to Jupyter's kernels",
		.usage = TEXT("[--tcp] SESSION", "--install [--alone] [--user | --prefix PREFIX]", "--uninstall [--user | --prefix PREFIX]"),
		.text = TEXT(
			"With a session, it prints the path of a connection file and the commands that use it, and serves "
			"Jupyter's clients until it is interrupted or the session ends. When it is interrupted, the session keeps running. Cells are runs of "
			"the session, with its limits and in its log. " SESSION_TEXT,
			"With --install, it adds \"Husk Python\", \"Husk Node.js\" and so on to the kernels that Jupyter lists, "
			"one for each runtime whose image is on the engine. Jupyter starts each of them in a fresh session. The "
			"folder of the notebook is copied to /workspace, with the limits of run; cp copies files back.",
			"It needs the program husk-jupyter-face, which is a separate package."),
		.options = OPTIONS(
			{ "tcp", NULL, "Listen on 127.0.0.1 instead of on sockets in a private folder. Other users of the machine can then "
			"read what is published." },
			{ "install", NULL, "Add Husk's kernels to Jupyter." },
			{ "alone", NULL, "With --install: the kernels do not copy a folder." },
			{ "uninstall", NULL, "Remove Husk's kernels from Jupyter." },
			{ "user", NULL, "Install for this user, which is the default." },
			{ "prefix", "PREFIX", "Install into PREFIX/share/jupyter, for example in a virtual environment." }),
		.examples = PAIRS(
			{ "husk jupyter --install", "Add Husk to the kernels of your notebooks." },
			{ "husk jupyter 4f2a", "Open the session whose id begins with 4f2a." }),
		.codes = PAIRS({ "0", "Done, or interrupted." }, CODE_NO_SESSION, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_RUN] = {
		.name = "run",
		.group = GROUP_CODE,
		.summary = "Run a program in a fresh session, as if it ran here",
		.usage = TEXT("[OPTION]... FILE|- [ARG]..."),
		.text = TEXT(
			"The program gets the input, arguments and signals of husk, its output appears as it is written, and "
			"husk exits with its exit code. At a terminal it has a terminal of its own; otherwise it has three "
			"pipes. A third signal ends the program. With -, the program is read from standard input.",
			"The folder of the program is copied to /workspace, without .git and the files that .gitignore excludes. A folder "
			"of more than 1,000 files or 64 MB and a home directory are not copied, and a message says so. "
			"Packages that a Python program lists in its metadata (PEP 723), or that package.json beside a Node.js "
			"program lists, are installed first.",
			"Pictures are saved beside the program: plot.py makes plot-1.png and so on. The session is removed "
			"afterwards."),
		.options = OPTIONS(
			{ "language", "L", "Language of the program; the default follows from the extension of FILE, and is Python for standard input." },
			{ "requirements", "FILE", "Install the packages that FILE lists: requirements.txt or package.json." },
			FRESH_OPTIONS,
			{ "file", "PATH", "Copy this file or folder to /workspace. Can be repeated." },
			{ "export", "PATH", "Afterwards, copy this file or folder of the session to the working directory. Can be repeated." },
			{ "alone", NULL, "Copy only the program, not its folder." },
			{ "timeout", "SECONDS", "Time limit. 0, the default, means no limit." }),
		.examples = PAIRS(
			{ "husk run script.py --verbose", "Run script.py with an argument." },
			{ "husk run -d requests --export report.html script.py", "Install a package first, and copy a result here afterwards." },
			{ "echo 'console.log(6 * 7)' | husk run --language node -", "Run a program from standard input." }),
		.codes = PAIRS(
			{ "0", "The program ended normally, without an exit code of its own." },
			{ "1", "The program ended with an error." },
			{ "64", "Wrong usage, a bad setting, a file that cannot be read, packages that cannot be installed, or a "
			"limit reached." },
			{ "111", "The system, the engine or the store failed, or the session was lost." },
			{ "124", "The time limit of --timeout was reached." },
			{ "130", "The program was interrupted." },
			{ "137", "The program needed more memory than the session has." },
			{ "128+N", "Signal N ended the program; 139 is a crash in native code." },
			{ "other", "The program's own exit code." }),
	},
	[VERB_REPL] = {
		.name = "repl",
		.group = GROUP_CODE,
		.summary = "Open an interpreter prompt in a new or existing session",
		.usage = TEXT("[OPTION]...", "[--pictures HOW] SESSION"),
		.text = TEXT(
			"Without SESSION, a session is created, and it ends with the prompt. An existing session keeps running. An "
			"agent may use it at the same time: cells run in turn and share variables. If its server has ended, "
			"husk takes the session over. " SESSION_TEXT,
			"A cell ends where its language says: open brackets, strings and bodies continue on the next line, "
			"and a blank line ends a body. Pasted text is one cell. Output appears as it is written, standard "
			"error in another colour, and a prompt of the cell (input(), readline()) is answered where it "
			"appears.",
			"Pictures are shown if the terminal can show them (kitty, iTerm2, sixel), and are otherwise saved as "
			"husk-repl-1.png and so on. Keys are those of editrc(5). If standard input is not a terminal, its "
			"lines run without a prompt."),
		.keys = PAIRS(
			{ "Ctrl-C", "Interrupt the cell, or clear the line." },
			{ "Ctrl-D", "Leave, on an empty line. exit() leaves too, with an exit code." },
			{ "Tab", "Complete names and files of the session." },
			{ "Ctrl-R", "Find earlier cells that contain the text of the line. The arrow keys step through all cells. A cell "
			"that begins with a blank is not kept." },
			{ "Alt-Enter", "Begin a new line in the cell." },
			{ "$ COMMAND", "Run a command in the session's shell. In Python, IPython runs !COMMAND itself." },
			{ "%checkpoint NAME", "Save the variables of a Python or R session under this name." },
			{ "%undo NAME", "Return to that checkpoint, or to the one after the run of this number." },
			{ "%branch NAME", "Run the following cells in this branch, a copy of the interpreter; without a name, in the main interpreter again." },
			{ "%keep NAME", "Make this branch the main interpreter." },
			{ "%drop NAME", "Delete this checkpoint or branch." }),
		.options = OPTIONS(
			{ "language", "L", "Language of a fresh session; Python by default." },
			FRESH_OPTIONS,
			{ "pictures", "HOW", "kitty, iterm or sixel: what the terminal can show. file: save pictures. auto, the default, asks the "
			"terminal." }),
		.examples = PAIRS(
			{ "husk repl --language r", "Open an R prompt." },
			{ "husk repl analysis", "Open the session that an agent named analysis." }),
		.codes = PAIRS(
			{ "0", "Done." },
			{ "1", "There is no such session, or, without a terminal, the last cell ended with an error." },
			{ "64", "Wrong usage, a bad setting, packages that cannot be installed, or a limit reached." },
			CODE_SYSTEM,
			{ "other", "The code that a cell exited with. Without a terminal: the exit code of the last cell, as husk run returns it." }),
	},
	[VERB_SHELL] = {
		.name = "shell",
		.group = GROUP_CODE,
		.summary = "Open a terminal in a session, also while an agent uses it",
		.usage = TEXT("[OPTION]... SESSION [--] [COMMAND [ARG]...]"),
		.text = TEXT(
			"It runs a shell, or COMMAND, beside the session's runs and without delaying them. The shell starts "
			"in the directory, and with the exported variables, of the session's last command. Later commands "
			"do not see its changes to them. Standard input must be a terminal; its size and TERM are passed on. A session "
			"has at most four terminals. " SESSION_TEXT,
			"An open terminal counts as use of the session, and history lists it without what was typed or "
			"shown. The server of the session must accept other programs (HUSK_ATTACH); if it has ended, husk "
			"takes the session over. Terminals end with the server of their session."),
		.keys = PAIRS(
			{ "~.", "At the beginning of a line: hang up and leave." },
			{ "~~", "A tilde." },
			{ "~?", "List these keys." }),
		.options = OPTIONS(
			{ "cwd", "DIR", "Start in DIR of the session: absolute, below ~, or relative to the last command's directory." }),
		.examples = PAIRS(
			{ "husk shell 4f2a", "Open a shell in the session whose id begins with 4f2a." },
			{ "husk shell 4f2a htop", "Run one program there." },
			{ "husk shell --cwd '~' 4f2a", "Start in the session's home directory." }),
		.codes = PAIRS(
			{ "1", "There is no such session." },
			{ "64", "Wrong usage, a bad setting, or the terminal limit is reached." },
			CODE_SYSTEM,
			{ "129", "It was left with ~. or its terminal was closed." },
			{ "128+N", "Signal N ended husk." },
			{ "other", "The exit code of the shell or command." }),
	},
	[VERB_OPEN] = {
		.name = "open",
		.group = GROUP_CODE,
		.summary = "Open a server in a session in a browser or another program",
		.usage = TEXT("[OPTION]... SESSION PORT"),
		.text = TEXT(
			"It prints an address and connects it to PORT of the session until it is interrupted. A server in the "
			"session must listen on that port, on 127.0.0.1 or on every address; a session without a network works "
			"too. The address is 127.x.y.z, different for each session, so that pages of sessions share no cookies. "
			"Its port is PORT, or another one if PORT is in use here or below 1024. " SESSION_TEXT,
			"Every user of this machine can connect to the address. Connections count as use of the session."),
		.examples = PAIRS(
			{ "husk open 4f2a 8000", "Print the address of the web server on port 8000 of that session." }),
		.codes = PAIRS({ "0", "It was interrupted." }, CODE_NO_SESSION, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_GATE] = {
		.name = "gate",
		.group = GROUP_CODE,
		.summary = "Show and change which hosts a session reaches",
		.usage = TEXT("[OPTION]... SESSION", "SESSION allow NAME...", "SESSION deny NAME...",
			      "SESSION check NAME[:PORT]", "list"),
		.text = TEXT(
			"For a session that was created with a list of hosts it prints the rules, the open connections, and "
			"the connections that failed. allow and deny change the rules of the running session, also beyond "
			"CONTAINER_NETWORK_ALLOW; models cannot do this. Connections to hosts that are no longer allowed are "
			"reset. check says which rule decides about a host; without a port it means 443. list prints the sets "
			"of hosts. " SESSION_TEXT,
			"NAME is a host, *.NAME for all hosts below it, NAME:PORT, or a set such as @python."),
		.options = OPTIONS(JSON_OPTION),
		.examples = PAIRS({ "husk gate 4f2a", "Show what that session reaches." },
				  { "husk gate 4f2a allow files.example.net", "Let it reach one more host." }),
		.codes = PAIRS(CODE_DONE, { "1", "There is no such session, or check found that the host is refused." },
			       CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_CP] = {
		.name = "cp",
		.group = GROUP_CODE,
		.summary = "Copy files and folders into a session, or out of it",
		.usage = TEXT("FILE... SESSION:[PATH]", "SESSION:PATH... DEST"),
		.text = TEXT(
			"PATH is relative to /workspace, and ~ is the home directory. The copy gets the name PATH, or goes "
			"below PATH under its own name if PATH is an existing folder, ends in / or is left out, or if there "
			"are several copies. data/. means the content of the folder data. Folders of the same name are "
			"merged, and files are replaced. Write a file name with a colon as ./NAME. " SESSION_TEXT,
			"husk opens the files itself, so it can copy whatever its user can read; IMPORT_ALLOWED_DIRS applies "
			"only to models. Modes and times are kept as import_files and export_files keep them, and exports lists what "
			"is copied out. An agent may use the session at the same time; if its server has ended, husk takes "
			"the session over for the copy.",
			"At a terminal it shows its progress; otherwise it prints only errors and what was left out. If one "
			"copy fails, the others continue."),
		.examples = PAIRS(
			{ "husk cp sales.csv data 4f2a:", "Copy a file and a folder to /workspace." },
			{ "husk cp 4f2a:plot.png .", "Copy a file of the session here." }),
		.codes = PAIRS(CODE_DONE, CODE_NO_SESSION, { "64", "Wrong usage, a bad setting, a file that cannot be read, or a limit reached." }, CODE_SYSTEM),
	},
	[VERB_PS] = {
		.name = "ps",
		.group = GROUP_SESSIONS,
		.summary = "List the sessions of all servers of this user",
		.usage = TEXT("[--json] [--all] [--watch]", "--metrics"),
		.text = TEXT(
			"The columns are id, runtime, state, age, time without use, memory in MiB, and the server that owns the "
			"session. Columns that do not fit are left out: in 80 columns, the names of sessions take the place of "
			"their servers. --json has everything. In state left, a session has lost its server and waits for another "
			"one. In state warm, a container is kept ready (WARM_POOL). With CONTAINER_ENGINE=kubernetes, a column "
			"shows the node, phase and reason of each pod."),
		.options = OPTIONS(
			JSON_OPTION,
			{ "all", NULL, "Also list sessions that have ended, and how they ended." },
			{ "watch", NULL, "List again every two seconds, until interrupted." },
			{ "metrics", NULL, "Print the counters of all running servers, added up, in the text format of Prometheus." }),
		.examples = PAIRS(
			{ "husk ps --all", "List all sessions, including those that have ended." },
			{ "husk ps --json | jq -r '.sessions[].id'", "Print the ids of sessions." }),
		.codes = PAIRS(CODE_DONE, { "1", "--metrics: no server is running." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_STOP] = {
		.name = "stop",
		.group = GROUP_SESSIONS,
		.summary = "Stop a session, even if it is in use",
		.usage = TEXT("SESSION", "--all"),
		.text = TEXT("The session's container is removed, with its variables and files. Its server reports the end to its "
		"client. " SESSION_TEXT),
		.options = OPTIONS({ "all", NULL, "Stop all sessions of this user." }),
		.examples = PAIRS({ "husk stop 4f2a", "Stop the session whose id begins with 4f2a." }),
		.codes = PAIRS(CODE_DONE, CODE_NO_SESSION, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_HISTORY] = {
		.name = "history",
		.group = GROUP_SESSIONS,
		.summary = "List the runs of a session, or verify the log",
		.usage = TEXT("[--json | --ipynb] [SESSION]", "--network [--json] SESSION", "--verify [--json] [SESSION]"),
		.text = TEXT(
			"The columns are the number of the run, tool, start, duration in milliseconds, how it ended, bytes "
			"in and out, and the names of variables in its env. Sessions that have ended are remembered. Without "
			"SESSION, the latest session is shown. " SESSION_TEXT,
			"With --network, husk lists the connections of a session that still runs: host, number, bytes up and "
			"down, duration, secret, and the reason if they failed.",
			"With --verify, husk checks that the log of one session, or of all, is intact. Runs, "
			"exports and receipts form a chain of hashes under a key that is not in the database "
			"(ENCRYPTION_KEY). It lists records that were changed, removed or added."),
		.options = OPTIONS(
			JSON_OPTION,
			{ "ipynb", NULL, "Print the session as a notebook (nbformat 4.5), if HISTORY_KEEPS_CODE was set when its cells ran." },
			{ "network", NULL, "List the connections through the gate." },
			{ "verify", NULL, "Check that the log is intact." }),
		.examples = PAIRS(
			{ "husk history", "List the runs of the latest session." },
			{ "husk history --ipynb 4f2a >session.ipynb", "Save a session as a notebook." },
			{ "husk history 4f2a --network", "List what a session has connected to." },
			{ "husk history --verify", "Check the logs of all sessions." }),
		.codes = PAIRS(CODE_DONE, { "1", "There is no such session, or the log is not intact." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_EXPORTS] = {
		.name = "exports",
		.group = GROUP_SESSIONS,
		.summary = "List the files that sessions exported, or delete one",
		.usage = TEXT("[--json] [--thread ID | --all]", "[--json] --delete ID"),
		.text = TEXT("It lists the exports of this conversation, newest first: time, size, session, id and path. "
		"In 80 columns the session is left out; --json has everything."),
		.options = OPTIONS(
			JSON_OPTION,
			{ "thread", "ID", "List the exports of another conversation." },
			{ "all", NULL, "List the exports of all conversations." },
			{ "delete", "ID", "Delete this export, of any conversation, and its content unless another export has the same content. The "
			"log keeps a record of it." }),
		.examples = PAIRS({ "husk exports --all", "List the exports of all conversations." }),
		.codes = PAIRS(CODE_DONE, { "1", "There is no such export." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_GC] = {
		.name = "gc",
		.group = GROUP_SESSIONS,
		.summary = "Remove what ended servers left behind, old exports or old images",
		.usage = TEXT("[--json]", "[--json] [--exports] [--images] [--older DAYSd] [--yes]"),
		.text = TEXT(
			"It removes containers that do not run and networks without containers, if they are older than "
			"CONTAINER_ORPHAN_MIN_AGE_SECONDS, and warm containers whose server has ended. It marks sessions "
			"that died unnoticed as ended, and deletes exports older than EXPORTS_MAX_AGE_DAYS. Sessions in use are "
			"never touched. A server with sessions does the same.",
			"With --exports, it deletes old exports of all conversations instead. With --images, it deletes the "
			"images of older builds of Husk, except those that the settings name or a container uses. It first shows "
			"how many there are and their sizes, and asks if standard input is a terminal."),
		.options = OPTIONS(
			JSON_OPTION,
			{ "exports", NULL, "Delete old exports. Without a terminal, nothing is deleted unless --yes is given." },
			{ "images", NULL, "Delete images of older builds. Without a terminal, nothing is deleted unless --yes is given." },
			{ "older", "DAYSd", "Age of the exports and images to delete, such as 7d; 30d by default." },
			{ "yes", NULL, "Delete without asking." }),
		.examples = PAIRS(
			{ "husk gc", "Remove leftovers." },
			{ "husk gc --exports --older 90d --yes", "Delete exports that are older than 90 days." },
			{ "husk gc --exports --images", "Show the sizes of old exports and images, then ask." }),
		.codes = PAIRS(CODE_DONE, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_SETUP] = {
		.name = "setup",
		.group = GROUP_SETUP,
		.summary = "Install an engine if none answers, and build the images",
		.usage = TEXT("[--runtime NAME[,NAME]...] [--engine-only]"),
		.text = TEXT(
			"On Debian and Ubuntu it installs and starts Docker if no engine answers. It then builds the images "
			"of this version from the recipes that came with husk. It does only what is missing. The builders' "
			"output is kept in $XDG_STATE_HOME/husk/setup."),
		.options = OPTIONS(
			{ "runtime", "NAME", "Build only the image of this runtime, or of several: python,r." },
			{ "engine-only", NULL, "Build no images." }),
		.examples = PAIRS({ "husk setup --runtime python", "Prepare for Python sessions only." }),
		.codes = PAIRS(CODE_DONE, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_DOCTOR] = {
		.name = "doctor",
		.group = GROUP_SETUP,
		.summary = "Check the engine, images, folders and settings",
		.usage = TEXT("[--json] [--probe [--verbose]]"),
		.text = TEXT(
			"It prints one line per check, with what to do if the check fails. It changes nothing and takes less than "
			"a second; if the engine does not answer, it takes ten seconds.",
			"With --probe, it also creates a session of each runtime, runs a cell, tries what a session must not "
			"be able to do, and stops the session. An attempt that worked is a failure. An attempt whose outcome is "
			"unknown is a warning."),
		.options = OPTIONS(
			JSON_OPTION,
			{ "probe", NULL, "Also try out a session of each runtime." },
			{ "verbose", NULL, "With --probe: show each attempt and how it was refused, not only their groups." }),
		.examples = PAIRS(
			{ "husk doctor", "Check whether sessions can work." },
			{ "husk doctor --json | jq -r '.checks[].fix // empty'", "Print only what has to be done." }),
		.codes = PAIRS({ "0", "No check failed. There may be warnings." }, { "1", "A check failed." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_KEYS] = {
		.name = "keys",
		.group = GROUP_SETUP,
		.summary = "Make, list and remove keys of the HTTP API",
		.usage = TEXT("add NAME [--tenant TENANT] [--scope SCOPE]...", "[--json] list [--tenant TENANT]", "remove ID|NAME [--tenant TENANT]"),
		.text = TEXT(
			"add prints the key alone on standard output. Only a hash of it is stored, so it cannot be shown again. A "
			"removed key is refused within five seconds.",
			"A key belongs to a tenant. Sessions, exports and history of one tenant do not exist for another. "
			"Without --tenant, add uses the tenant local, to which everything on this machine belongs.",
			"Scopes: sessions:read, sessions:write, run, terminal, files:read, files:write, exports:read, ports, "
			"settings, keys, secrets, metrics, admin (all). Without --scope, a key has those from sessions:read to ports."),
		.options = OPTIONS(
			{ "tenant", "TENANT", "The tenant of the key: lower-case letters, digits and hyphens." },
			{ "scope", "SCOPE", "Let the key do this. Can be repeated." },
			{ "max-sessions", "N", "add: at most N sessions of the tenant at the same time." },
			{ "max-memory", "SIZE", "add: the memory limits of the tenant's sessions together, such as 16g." },
			{ "max-streams", "N", "add: at most N open streams of events and terminals of the tenant." },
			{ "max-exports", "SIZE", "add: size of all exports of the tenant together, such as 10g." },
			{ "json", NULL, "list: print one JSON object." }),
		.examples = PAIRS(
			{ "husk keys add laptop >key.txt", "Make a key for another program." },
			{ "husk keys add ci --tenant acme --max-sessions 4", "Make a key for another team." }),
		.codes = PAIRS(CODE_DONE, { "1", "There is no such key." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_SECRET] = {
		.name = "secret",
		.group = GROUP_SETUP,
		.summary = "Store, list and remove secrets that sessions use but never see",
		.usage = TEXT("set NAME --host HOST[:PORT]... [--header NAME] [--query NAME] [--basic USER]", "[--json] list",
			      "remove NAME"),
		.text = TEXT(
			"A session that is created with a secret has a placeholder in the variable of its name. In requests over TLS "
			"to the hosts of the secret, and only there, the server of the session puts the value in its place. The value "
			"never enters the session. docs/secrets.md describes it.",
			"set reads the value from standard input; at a terminal, it is not shown. It is stored encrypted, and a "
			"secret of the same name is replaced. list never shows values. After remove, sessions cannot use the "
			"secret any more.",
			"By default a secret may be used in any header. With --header, --query or --basic it is used only "
			"there."),
		.options = OPTIONS(
			{ "host", "HOST[:PORT]", "set: the host that the secret is for; port 443 by default. Can be repeated." },
			{ "header", "NAME", "set: use it only in this header." },
			{ "query", "NAME", "set: use it only in this parameter of the address." },
			{ "basic", "USER", "set: use it only as the password of this user (HTTP Basic)." },
			{ "tenant", "TENANT", "The tenant of the secret; local by default." },
			{ "json", NULL, "list: print one JSON object." }),
		.examples = PAIRS(
			{ "husk secret set OPENAI_API_KEY --host api.openai.com", "Type a key that sessions can then use." },
			{ "husk secret set GIT_TOKEN --host git.example.com --basic x <token.txt", "Store a token for git." }),
		.codes = PAIRS(CODE_DONE, { "1", "There is no such secret." }, CODE_USAGE, CODE_SYSTEM),
	},
	[VERB_CONFIG] = {
		.name = "config",
		.group = GROUP_SETUP,
		.summary = "Show settings, and store some for all programs of this user",
		.usage = TEXT("[--json] list", "get NAME", "set NAME [VALUE]", "unset NAME"),
		.text = TEXT(
			"list shows every setting, its value and where the value comes from, without secrets. get prints one "
			"value. set stores a value, encrypted, for all programs of this user, and unset removes it. "
			"docs/settings.md and husk(1) explain the settings.",
			"Without VALUE, set reads the value from standard input. A password must be given that way, because "
			"every user of the machine can read command lines. A bad value is refused."),
		.options = OPTIONS({ "json", NULL, "list: print one JSON object." }),
		.examples = PAIRS(
			{ "husk config set CONTAINER_MEMORY_LIMIT 4g", "Give every session 4 GB." },
			{ "husk config set DATABASE_URL <url.txt", "Store a value with a password." }),
		.codes = PAIRS(CODE_DONE, { "1", "The setting is not set." }, { "64", "Wrong usage, an unknown setting or a bad value." }, CODE_SYSTEM),
	},
	[VERB_DEMO] = {
		.name = "demo",
		.group = GROUP_SETUP,
		.summary = "Show a short tour, then how to set up a client",
		.usage = TEXT("[OPTION]..."),
		.text = TEXT("It starts the real server and uses it like a client: a session, cells, a picture (saved as "
		"husk-demo.png) and a command. It ends with the configuration for your client."),
		.examples = PAIRS({ "husk demo", "Show the tour." }),
		.codes = PAIRS(CODE_DONE, CODE_USAGE, { "111", "A step of the tour failed." }),
	},
	[VERB_HELP] = {
		.name = "help",
		.group = GROUP_SETUP,
		.summary = "Print the help of a verb, or list the verbs",
		.usage = TEXT("[VERB]"),
		.examples = PAIRS({ "husk help run", "Print the same as husk run --help." }),
		.codes = PAIRS(CODE_DONE, CODE_USAGE),
	},
};

const struct help_program husk_help = {
	.name = "husk",
	.summary = "persistent interpreters in hardened containers, for AI agents and people",
	.text = TEXT(
		"Husk keeps Python, Node.js and R interpreters alive in hardened containers. An agent, or you, can "
		"run code in them, isolated from this machine."),
	.groups = groups,
	.verbs = verbs,
	.n_verbs = ARRAY_LEN(verbs),
	.options = common_options,
};
