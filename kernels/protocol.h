/* The numbers of both wires (docs/protocol.md says what they mean): frames between the manager and PID 1, and the
 * kernel link between PID 1 and a language kernel. The one header that host and container share. */
#ifndef HUSK_KERNELS_PROTOCOL_H
#define HUSK_KERNELS_PROTOCOL_H

#include "base/frames.h"

/* PID 1 speaks PROTOCOL_VERSION and the one before it, so that an upgraded server can adopt running sessions. */
#ifndef HUSK_PROTOCOL_AHEAD /* 1 in a test of what a newer server does */
#define HUSK_PROTOCOL_AHEAD 0
#endif
#define PROTOCOL_VERSION (3 + HUSK_PROTOCOL_AHEAD)
#define PROTOCOL_VERSION_MIN (PROTOCOL_VERSION - 1)

#define PING_PAYLOAD_MAX 64u

/* What the kernel inherits: its end of the link, or a pipe with the token of a TCP link. Above what programs close by hand,
 * and in the range (to 15) whose descriptors Node keeps from its children. */
#define LINK_FD 15
/* A pipe from which the kernel reads a byte for each display and sync that PID 1 has taken. */
#define LINK_TAKEN_FD 14
#define LINK_HEADER_SIZE 4
#define LINK_VERSION 1
/* Fits a frame with room for its envelope. */
#define LINK_MESSAGE_MAX (12u << 20)
/* Bounds PID 1's memory: what one call may leave behind in displays before the rest is counted and dropped. */
#define CALL_DISPLAY_BYTES_MAX (24u << 20)
#define CALL_DISPLAYS_MAX 100u
/* A cell or command on its way in. */
#define CODE_BYTES_MAX (8u << 20)
/* What calls that have not ended may hold in frames, so that a client can send a whole notebook at once; and a bound for calls that
 * say nothing. More end at once as `refused`. */
#define QUEUE_BYTES_MAX (32u << 20)
#define CALLS_MAX 1024u
/* Of the variables that a session holds, or has lost. */
#define VARIABLES_MAX 100
/* Commands that run beside the queue, since nobody waits for them. */
#define ASIDE_MAX 8
/* Of a question to an idle kernel: its code, and what comes back. */
#define QUERY_CODE_MAX (256u << 10)
#define ANSWER_BYTES_MAX (256u << 10)
/* What one INPUT may hold, and what is kept of a prompt. */
#define INPUT_BYTES_MAX (64u << 10)
#define PROMPT_CHARS_MAX 1000
/* A command's pseudo-terminal. */
#define TERMINAL_ROWS 24
#define TERMINAL_COLS 80
#define TERMINAL_ROWS_MAX 200
#define TERMINAL_COLS_MAX 500
/* Either half of an output limit, so that two limits and a few calls stay small beside the container's memory. */
#define OUTPUT_LIMIT_MAX (4u << 20)

/* Consoles: terminals at which a person sits. For each, neither side has more bytes under way than a window that was not credited,
 * so a flood in one delays nothing and fills no memory. */
#define CONSOLES_MAX 4u
#define CONSOLE_OUT_WINDOW (256u << 10)
#define CONSOLE_KEYS_WINDOW (64u << 10)
#define CONSOLE_DATA_MAX (16u << 10)
#define CONSOLE_SIDE_MAX 4096 /* rows, columns */
#define CONSOLE_TERM_MAX 64
#define CONSOLE_ARGS_MAX 1024u
#define CONSOLE_WANTED_MAX (256u << 10) /* the frame that opens one */

/* File calls. A receiver takes FILE_WINDOW bytes of frames (headers included) that it has not given credit for, so neither
 * side ever buffers more, and other frames on the stream never wait for more than that. */
#define FILE_WINDOW (1u << 20)
/* Of an export, which is hashed and written at the same time, the manager may ask for more. */
#define FILE_WINDOW_MAX (4u << 20)
#define FILE_DATA_MAX (32u << 10)
#define FILE_CALLS_MAX 8u
/* From this size on a file goes out as a descriptor, where the stream carries one: its bytes then do not. */
#define FILE_WHOLE_MIN (1u << 20)
/* Holes of a sparse file: an offset and a length for each piece of data between them. */
#define FILE_MAP_PIECES_MAX 16384u
#define FILE_MAP_PIECES_A_FRAME 1024u

/* The relay of package indexes: so many ports, and so many requests at a time on all of them; more wait at the door. For each
 * request the manager sends at most a window of data that was not credited. */
#define RELAY_PORTS_MAX 8u
/* Requests have numbers of their own, above those of calls. */
#define RELAY_NUMBER_FIRST 0x80000000u
#define RELAY_REQUESTS_MAX 24u
#define RELAY_WINDOW (256u << 10)
#define RELAY_DATA_MAX (32u << 10)
/* Of a request and of an answer's head, as JSON. */
#define RELAY_HEAD_MAX (32u << 10)

/* A session's id: base32, lower case. An install claims its container with an empty one. */
#define SESSION_ID_LEN 26
/* What a CLAIM may add to the environment, as NAME=value with a NUL each. */
#define CLAIM_ENV_MAX (64u << 10)

/* Who runs the code. A session has a number of its own, so that sessions do not share what the host's kernel limits by user;
 * an install, whose files are kept, is always SANDBOX_UID. */
#define SANDBOX_UID 65532
#define SESSION_UID_MIN 60706
#define SESSION_UID_MAX 61183
#define SANDBOX_GID 65532
#define CONTROLLER_UID 65531

#define CONTROL_SOCKET "husk-control" /* abstract */
/* Where a server that shares the container's kernel is found: a folder that is mounted read-only, with its socket in it. */
#define LINE_FOLDER "/run/husk"
#define LINE_SOCKET "line.sock"
/* What each end asks for of the system, which gives what it allows: the fuller a buffer may get, the less often its two ends wait for
 * each other. */
#define LINE_BUFFER (4 << 20)
#define CLIENT_PATH "/opt/husk/husk-client"
#define DEPENDENCIES_PATH "/opt/husk/deps"
#define HOME_VOLUME "/home" /* on disk; whoever sandbox code runs as makes its home directory in it */
#define HOME_PATH HOME_VOLUME "/sandbox"
#define HOME_TMP HOME_PATH "/.tmp"
/* An instance of devpts for the terminals that PID 1 opens. Programs open theirs in /dev/pts. Landlock knows directories, so this one
 * can be closed to all processes but those of the terminal (kernels/guard/landlock.h). */
#define TERMINALS_PATH "/dev/terminals"
#define RUNTIME_MANIFEST_PATH "/opt/husk/runtime.json"

/* husk-probe, in every image: tries what a session must not be able to do. With "boot" it tells which boot of the machine this is. */
#define PROBE_PATH "/opt/husk/husk-probe"
/* Its lines: a verdict, a group, a name and a reason, separated by tabs. The last one is PROBE_DONE, how many acts there were, how many of
 * them worked and how many could not tell (both kinds). */
#define PROBE_HELD "held"
#define PROBE_OPEN "OPEN"
#define PROBE_UNSURE "cannot tell"
#define PROBE_NO_PEER "no peer" /* cannot tell: no other session was there to try it on */
#define PROBE_DONE "done"
/* husk-fit, in every image: makes an image of somebody else's fit for sessions, or says what it lacks. */
#define FIT_PATH "/opt/husk/husk-fit"
/* husk-fence, in every image: what it prints, and how it exits. */
#define FENCE_PATH "/opt/husk/husk-fence"
#define FENCE_KEPT "kept"	/* it was as it should be */
#define FENCE_SET "set"		/* there was none */
#define FENCE_RESET "reset"	/* there was another one */
#define FENCE_MISSING "missing" /* only looked at */
#define FENCE_CHANGED "changed" /* likewise */
enum fence_exit {
	FENCE_EXIT_DONE = 0,
	FENCE_EXIT_FAILED = 1, /* another try may do */
	FENCE_EXIT_USAGE = 2,
	FENCE_EXIT_NEVER = 3, /* not on this machine, or not with these privileges */
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

	/* Both ways: the content of a file call. */
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
	FRAME_FILE = 31, /* a descriptor comes with it */

	FRAME_INSTALL = 40, /* from the manager */

	/* An index, relayed to the installer: requests go up, answers come down. */
	FRAME_RELAY_GET = 41,
	FRAME_RELAY_CANCEL = 42,
	FRAME_RELAY_CREDIT = 43,
	FRAME_RELAY_ANSWER = 44, /* from the manager, like the two below */
	FRAME_RELAY_DATA = 45,
	FRAME_RELAY_END = 46,

	/* From the manager, since version 3. */
	FRAME_TAKE = 50,
	FRAME_LOOK = 51,
	FRAME_INPUT = 52,

	/* To a PID 1 whose hello says that it has consoles. */
	FRAME_CONSOLE = 60,
	FRAME_CONSOLE_SIZE = 61,
	FRAME_CONSOLE_DATA = 62,   /* both ways */
	FRAME_CONSOLE_ERR = 63,	   /* from PID 1: what a program without a terminal writes to stderr */
	FRAME_CONSOLE_SIGNAL = 64, /* from the manager, to a PID 1 whose hello says `programs` */

	/* Questions to an idle kernel and their answers, with a PID 1 whose HELLO says `queries`. */
	FRAME_QUERY = 70, /* from the manager */
	FRAME_ANSWER = 71,
};

#endif
