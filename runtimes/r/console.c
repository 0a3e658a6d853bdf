/* Keeps R's output in the order of printing. stdout and stderr are two pipes, so before a switch from one to the other
 * PID 1 reads what is in them (`sync`, docs/protocol.md, section 2). If text is printed after the drawing of a page has
 * begun, the page's display is sent empty before the text, and updated when the page is finished.
 *
 * R writes to two C stdio files, which this code replaces. Built by prepare.sh, called by husk/console.R. */
#define _GNU_SOURCE
#include "runtimes/r/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define R_NO_REMAP
#include <Rinterface.h>
#include <Rinternals.h>

#define SYNC_MAX 64
#define STREAMS 3

static struct {
	int taken;		      /* descriptor with a byte for each message that PID 1 has processed */
	pid_t owner;		      /* a forked child has no link */
	double cell;		      /* 0 = between cells, when nothing may be sent */
	int last;		      /* the descriptor that was written to last */
	char *page;		      /* the message that reserves the place of a page */
	struct stat streams[STREAMS]; /* the files of 0, 1 and 2 at the start */
} console = { .taken = -1 };

static bool can_send(void)
{
	return console.cell > 0 && console.owner == getpid();
}

/* Drops bytes that no call has waited for. */
static void forget_taken(void)
{
	char bytes[256];
	while (poll(&(struct pollfd){ .fd = console.taken, .events = POLLIN }, 1, 0) > 0 &&
	       read(console.taken, bytes, sizeof(bytes)) > 0)
		;
}

static void wait_until_taken(void)
{
	char byte;
	while (read(console.taken, &byte, 1) < 0 && errno == EINTR)
		;
}

/* Sends a message and waits until PID 1 has processed it, and has read all earlier output. */
static void send_and_wait(const char *text)
{
	forget_taken();
	if (link_send_text(text))
		wait_until_taken();
}

static void place_page(void)
{
	char *page = console.page;
	if (!page || !can_send())
		return;
	console.page = NULL;
	send_and_wait(page);
	free(page);
	console.last = -1; /* PID 1 has read both pipes */
}

static void change_to(int fd)
{
	char text[SYNC_MAX];
	if (console.last > 0 && console.last != fd && can_send()) {
		(void)snprintf(text, sizeof(text), "{\"op\":\"sync\",\"id\":%.0f}", console.cell);
		send_and_wait(text);
	}
	console.last = fd;
}

/* If the cell has closed the descriptor, the output is dropped; this is not an error of R. */
static ssize_t put(int fd, const char *data, size_t n)
{
	(void)fflush(stdout); /* output of C code that does not print through R */
	place_page();
	change_to(fd);
	(void)link_write_all(fd, data, n);
	return (ssize_t)n;
}

static ssize_t put_out(void *cookie, const char *data, size_t n)
{
	(void)cookie;
	return put(STDOUT_FILENO, data, n);
}

static ssize_t put_err(void *cookie, const char *data, size_t n)
{
	(void)cookie;
	return put(STDERR_FILENO, data, n);
}

static void flush_all(void)
{
	(void)fflush(stdout);
	(void)fflush(R_Outputfile);
	(void)fflush(R_Consolefile);
}

/* Descriptors with higher numbers are not looked at. */
#define SPARES_BELOW 256

/* 1 and 2 are new. The spares from which streams.R restores them still are those of the process that was copied. */
static void renew_spares(void)
{
	struct stat st;
	for (int fd = STREAMS; fd < SPARES_BELOW; fd++)
		for (int of = STDOUT_FILENO; of < STREAMS; of++)
			if (fstat(fd, &st) == 0 && st.st_dev == console.streams[of].st_dev &&
			    st.st_ino == console.streams[of].st_ino)
				(void)dup3(of, fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
	for (int fd = 0; fd < STREAMS; fd++)
		(void)fstat(fd, &console.streams[fd]);
}

bool console_take_over(int taken)
{
	console.owner = getpid();
	renew_spares();
	return dup3(taken, console.taken, O_CLOEXEC) >= 0;
}

int console_taken(void)
{
	return console.taken;
}

/* ---- called by R */

/* Replaces R's output files. R flushes both after each call that prints. */
SEXP console_open(SEXP taken)
{
	console.taken = Rf_asInteger(taken);
	console.owner = getpid();
	(void)fcntl(console.taken, F_SETFD, FD_CLOEXEC);
	for (int fd = 0; fd < STREAMS; fd++)
		(void)fstat(fd, &console.streams[fd]);
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put_out });
	FILE *err = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put_err });
	if (!out || !err)
		return Rf_ScalarLogical(0);
	R_Outputfile = out;
	R_Consolefile = err;
	return Rf_ScalarLogical(1);
}

/* Called when a cell begins; number 0 means that it has ended. */
SEXP console_cell(SEXP number)
{
	flush_all();
	console.cell = Rf_asReal(number);
	console.last = 0;
	free(console.page);
	console.page = NULL;
	return R_NilValue;
}

/* Called when a page has begun: stores the message that reserves its place, in case something is printed before the
 * page is finished. */
SEXP console_page(SEXP message)
{
	place_page();
	free(console.page);
	console.page = strdup(R_CHAR(STRING_ELT(message, 0)));
	return R_NilValue;
}

/* Called before a program writes or something is displayed: sends the place of a page that has begun. */
SEXP console_place(void)
{
	flush_all();
	place_page();
	return R_NilValue;
}

/* Called when the page that began last is finished. Returns TRUE if its place was already sent. */
SEXP console_placed(void)
{
	bool placed = !console.page;
	free(console.page);
	console.page = NULL;
	return Rf_ScalarLogical(placed);
}

/* Sends a display (link_send()) and waits until PID 1 has processed it, so that later output comes after it. */
SEXP console_show(SEXP pieces)
{
	forget_taken();
	SEXP sent = link_send(pieces, Rf_ScalarLogical(0));
	if (Rf_asLogical(sent) == 1)
		wait_until_taken();
	console.last = -1; /* PID 1 has read both pipes */
	return sent;
}

/* TRUE if 0, 1 and 2 are the same files as at the start. */
SEXP console_is_whole(void)
{
	struct stat st;
	for (int fd = 0; fd < STREAMS; fd++)
		if (fstat(fd, &st) != 0 || st.st_dev != console.streams[fd].st_dev ||
		    st.st_ino != console.streams[fd].st_ino)
			return Rf_ScalarLogical(0);
	return Rf_ScalarLogical(1);
}
