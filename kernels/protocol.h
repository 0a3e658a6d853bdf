/* The numbers of both wires (docs/protocol.md has their meaning): frames between the manager and PID 1, and the
 * kernel link between PID 1 and a language kernel. This is the one header that host and container share. */
#ifndef HUSK_KERNELS_PROTOCOL_H
#define HUSK_KERNELS_PROTOCOL_H

#include "base/frames.h"

/* PID 1 speaks PROTOCOL_VERSION and the one before it, so that an upgraded server can adopt running sessions. */
#ifndef HUSK_PROTOCOL_AHEAD /* 1 in a test of a newer server */
#define HUSK_PROTOCOL_AHEAD 0
#endif
#define PROTOCOL_VERSION (4 + HUSK_PROTOCOL_AHEAD)
#define PROTOCOL_VERSION_MIN (PROTOCOL_VERSION - 1)

#define PING_PAYLOAD_MAX 64u

/* A descriptor that the kernel inherits: its end of the link, or a pipe with the token of a TCP link. The number
 * is above those that programs close by hand, and in the range (to 15) that Node keeps from its children. */
#define LINK_FD 15
/* A pipe from which the kernel reads one byte for each display or sync that PID 1 has processed. */
#define LINK_TAKEN_FD 14
#define LINK_HEADER_SIZE 4
#define LINK_VERSION 1
/* A message of this size fits into a frame, with room for its envelope. */
#define LINK_MESSAGE_MAX (12u << 20)
/* Bounds PID 1's memory: bytes and number of displays that one run may leave. Further ones are counted and dropped. */
#define CALL_DISPLAY_BYTES_MAX (24u << 20)
#define CALL_DISPLAYS_MAX 100u
/* Limit for a cell or command that the manager sends. */
#define CODE_BYTES_MAX (8u << 20)
/* Limits for unfinished runs: the bytes of their frames, so that a client can send a whole notebook at once, and their
 * number. Further runs end at once as `refused`. */
#define QUEUE_BYTES_MAX (32u << 20)
#define CALLS_MAX 1024u
/* Limits for the list of variables that a session has, or has lost. */
#define VARIABLES_MAX 100
/* How many commands may run outside the queue because no client waits for them. */
#define ASIDE_MAX 8
/* Limits for a query to an idle kernel: its code, and the answer. */
#define QUERY_CODE_MAX (256u << 10)
#define ANSWER_BYTES_MAX (256u << 10)
/* Limit for a request about checkpoints. */
#define CHECKPOINT_BYTES_MAX 1024u
/* Limits for one INPUT, and for the kept part of a prompt. */
#define INPUT_BYTES_MAX (64u << 10)
#define PROMPT_CHARS_MAX 1000
/* Maximum length of `by`, the name of the program that started a run, in bytes. */
#define RUN_BY_MAX 64
/* Size of a command's pseudo-terminal. */
#define TERMINAL_ROWS 24
#define TERMINAL_COLS 80
#define TERMINAL_ROWS_MAX 200
#define TERMINAL_COLS_MAX 500
/* Maximum for each half (head and tail) of an output limit, so that the output of a few runs stays small compared with
 * the container's memory. */
#define OUTPUT_LIMIT_MAX (4u << 20)

/* Consoles: terminals for people. In each console, neither side sends more than one window of bytes without credit. A
 * flood in one console therefore delays nothing else and fills no memory. */
#define CONSOLES_MAX 4u
#define CONSOLE_OUT_WINDOW (256u << 10)
#define CONSOLE_KEYS_WINDOW (64u << 10)
#define CONSOLE_DATA_MAX (16u << 10)
#define CONSOLE_SIDE_MAX 4096 /* rows, columns */
#define CONSOLE_TERM_MAX 64
#define CONSOLE_ARGS_MAX 1024u
#define CONSOLE_WANTED_MAX (256u << 10) /* the frame that opens one */

/* File transfers. The sender may send FILE_WINDOW bytes of frames (headers included) before it needs credit. So neither
 * side ever buffers more, and other frames on the stream never wait for more than that. */
#define FILE_WINDOW (1u << 20)
/* The manager may ask for a larger window for an export, which is hashed and written at the same time. */
#define FILE_WINDOW_MAX (4u << 20)
#define FILE_DATA_MAX (32u << 10)
#define FILE_CALLS_MAX 8u
/* From this size on a file is sent as a descriptor instead of data, if the stream can pass one. */
#define FILE_WHOLE_MIN (1u << 20)
/* Holes of a sparse file: an offset and a length for each piece of data. */
#define FILE_MAP_PIECES_MAX 16384u
#define FILE_MAP_PIECES_A_FRAME 1024u

/* Requests about files in place: how many may be under way, and the longest request (a path and options). */
#define FILE_REQUESTS_MAX 16u
#define FILE_REQUEST_BYTES_MAX 8192u
/* A page of a listing has at most this many names, and at most FILE_WINDOW bytes of frames. */
#define FILE_PAGE_MAX 4096u
/* Limits for the work that one request can cause: names of a directory that is listed, and names that a recursive
 * delete examines. Sandbox code may add names as fast as PID 1 reads them. */
#define FILE_NAMES_MAX (4u << 20)
#define FILE_ERASED_MAX (16u << 20)

/* Streams: connections through the line. Each side of a stream sends at most one window of bytes without credit. */
#define STREAMS_MAX 128u
#define STREAM_WINDOW (64u << 10)
#define STREAM_DATA_MAX (32u << 10)
#define STREAM_OPEN_MAX 1024u
/* Streams that PID 1 opens have numbers of their own, above those of the manager. */
#define STREAM_NUMBER_FIRST 0x80000000u

/* The gate: how a session without a network reaches the hosts that its rules name. Limits for the rules, and for the
 * connections of one session. */
#define GATE_RULES_MAX 256u
/* 127.64.0.2: the address of the first name. */
#define GATE_ADDRESS_FIRST 0x7f400002u
#define GATE_RULE_PORTS_MAX 16u
#define GATE_HINT_MAX 1000u
#define GATE_RULES_BYTES_MAX (192u << 10) /* the rules as JSON */
#define GATE_CONNECTIONS_MAX 128u
#define GATE_NEW_A_SECOND 100u
/* Pairs of a name and a port in one GATE_DENIED. */
#define GATE_DENIED_MAX 32u

/* Names in an INSTALL. */
#define INSTALL_DIRECT_MAX 8u

/* A session's id: base32, lower case. An install claims its container with an empty one. */
#define SESSION_ID_LEN 26
/* Limits for the environment in a CLAIM, counted as NAME=value with a NUL each. */
#define CLAIM_ENV_MAX (64u << 10)
/* Limit for the certificates in a CLAIM, as PEM. */
#define CLAIM_AUTHORITY_MAX (1u << 20)

/* The user that runs the code. Each session has its own number, so that sessions do not share the host kernel's
 * limits per user; an install, whose files are kept, is always SANDBOX_UID. */
#define SANDBOX_UID 65532
#define SESSION_UID_MIN 60706
#define SESSION_UID_MAX 61183
#define SANDBOX_GID 65532
#define CONTROLLER_UID 65531

/* Open files of a process of the session: enough for any build tool, and low enough that a leak fails inside the
 * container. */
#define NOFILE_LIMIT 4096
/* 1, not 0: only with a limit of 1 does the kernel not pipe core dumps to the host's handler. */
#define CORE_LIMIT 1

#define CONTROL_SOCKET "husk-control" /* abstract */
/* The socket of a server that shares the container's kernel, in a folder that is mounted read-only. */
#define LINE_FOLDER "/run/husk"
#define LINE_SOCKET "line.sock"
/* Size that each end requests; the system grants what it allows. With larger buffers the two ends wait for each
 * other less often. */
#define LINE_BUFFER (4 << 20)
#define CLIENT_PATH "/opt/husk/husk-client"
#define DEPENDENCIES_PATH "/opt/husk/deps"
#define HOME_VOLUME "/home" /* on disk; the sandbox user creates its home directory in it */
#define HOME_PATH HOME_VOLUME "/sandbox"
#define HOME_TMP HOME_PATH "/.tmp"
/* An instance of devpts for the terminals that PID 1 opens. Programs open theirs in /dev/pts. Landlock rules apply
 * to directories, so this one can be closed to all processes but those of the terminal (kernels/guard/landlock.h). */
#define TERMINALS_PATH "/dev/terminals"
#define RUNTIME_MANIFEST_PATH "/opt/husk/runtime.json"

/* husk-probe, in every image: tries what a session must not be able to do. With "boot" it prints an id of the
 * machine's current boot. */
#define PROBE_PATH "/opt/husk/husk-probe"
/* Each line of its output has a verdict, a group, a name and a reason, separated by tabs. The last line has PROBE_DONE,
 * the number of acts, the number that worked and the number of unknown results (both kinds). */
#define PROBE_HELD "held"
#define PROBE_OPEN "OPEN"
#define PROBE_UNSURE "cannot tell"
#define PROBE_NO_PEER "no peer" /* unknown: there was no other session to try it on */
#define PROBE_DONE "done"
/* husk-fit, in every image: makes an image that Husk did not build usable for sessions, or lists what it lacks. */
#define FIT_PATH "/opt/husk/husk-fit"
/* husk-fence, in every image: its output, and its exit codes. */
#define FENCE_PATH "/opt/husk/husk-fence"
#define FENCE_KEPT "kept"	/* the table was right */
#define FENCE_SET "set"		/* there was no table */
#define FENCE_RESET "reset"	/* the table was different */
#define FENCE_MISSING "missing" /* after a check: no table */
#define FENCE_CHANGED "changed" /* after a check: a different table */
#define FENCE_KERNEL "kernel "	/* second line, unless it only checks: the id of the kernel's boot */
enum fence_exit {
	FENCE_EXIT_DONE = 0,
	FENCE_EXIT_FAILED = 1, /* another try may succeed */
	FENCE_EXIT_USAGE = 2,
	FENCE_EXIT_NEVER = 3, /* cannot work on this machine, or with these privileges */
};

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_PING = 2,
	FRAME_PONG = 3,
	FRAME_EXECUTE = 4,
	FRAME_TERMINAL = 5,
	FRAME_INTERRUPT = 6,
	FRAME_ACK = 7,
	FRAME_STOP = 8,
	FRAME_IMPORT = 9,
	FRAME_EXPORT = 10,
	FRAME_DONE = 11,

	/* Both directions: the content of a file transfer. */
	FRAME_ENTRY = 12,
	FRAME_DATA = 13,
	FRAME_CREDIT = 14,

	FRAME_CLAIM = 15, /* from the manager; since version 2 */

	FRAME_OUT = 16,
	FRAME_ERR = 17,
	FRAME_DISPLAY = 18,
	FRAME_RESULT = 19,
	FRAME_ERROR = 20,
	FRAME_END = 21,
	FRAME_EVENT = 22,
	FRAME_CALL = 23,
	FRAME_PROGRESS = 24,
	FRAME_OUT_TAIL = 25,
	FRAME_ERR_TAIL = 26,
	FRAME_MAP = 27,
	FRAME_MARK = 28,
	FRAME_INFO = 29,
	FRAME_PROMPT = 30,
	FRAME_FILE = 31, /* with a descriptor */

	FRAME_INSTALL = 40, /* from the manager */

	/* 41 to 46 were the relay of package indexes, until the gate took its place. */

	/* From the manager, since version 3. */
	FRAME_TAKE = 50,
	FRAME_STATUS = 51,
	FRAME_INPUT = 52,

	/* To a PID 1 whose hello announces consoles. */
	FRAME_CONSOLE = 60,
	FRAME_CONSOLE_SIZE = 61,
	FRAME_CONSOLE_DATA = 62,   /* both directions */
	FRAME_CONSOLE_ERR = 63,	   /* from PID 1: stderr of a program without a terminal */
	FRAME_CONSOLE_SIGNAL = 64, /* from the manager, to a PID 1 whose hello has `programs` */

	/* Queries to an idle kernel and their answers, with a PID 1 whose HELLO has `queries`. */
	FRAME_QUERY = 70, /* from the manager */
	FRAME_ANSWER = 71,
	/* From the manager, to a PID 1 whose HELLO has `checkpoints`: an ANSWER follows. */
	FRAME_CHECKPOINT = 72,

	/* Requests about files in place, to a PID 1 whose HELLO has `files`. */
	FRAME_FILES_LIST = 80,
	FRAME_FILES_STAT = 81,
	FRAME_FILES_DELETE = 82,
	FRAME_FILES_MAKE = 83,
	FRAME_FILES_READ = 84,
	FRAME_FILES_FETCH = 85,
	FRAME_FILES_WRITE = 86,
	FRAME_ITEM = 87, /* from PID 1 */

	/* Streams, in both directions, with a PID 1 whose HELLO has `streams`. Since version 4. */
	FRAME_STREAM_OPEN = 90,
	FRAME_STREAM_ACCEPT = 91,
	FRAME_STREAM_REFUSE = 92,
	FRAME_STREAM_DATA = 93,
	FRAME_STREAM_CREDIT = 94,
	FRAME_STREAM_END = 95,

	/* The gate, with a PID 1 whose HELLO has `gate`. */
	FRAME_GATE = 97,	/* from the manager: the rules */
	FRAME_GATE_DENIED = 98, /* from PID 1 */
};

#endif
