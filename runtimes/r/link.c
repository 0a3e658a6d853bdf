/* Built by prepare.sh, called by husk/link.R. Interrupts are not handled here, since half a message would break the
 * kernel. The only R error that can occur is a lack of memory for a received message, which ends the kernel too. */
#define _GNU_SOURCE
#include "runtimes/r/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define R_NO_REMAP
#include <R_ext/GraphicsEngine.h>
#include <R_ext/eventloop.h>
#include <Rinternals.h>

#define HEADER 4
#define IDLE_SECONDS 60
#define MESSAGE_MAX ((size_t)12 << 20) /* LINK_MESSAGE_MAX in kernels/protocol.h */
#define CODE_MESSAGE_MAX ((size_t)64 << 20)
#define KEPT_MAX ((size_t)1 << 20) /* size of a buffer that is kept between two messages */
#define TEXT_MAX ((size_t)1 << 20) /* characters, as in errors.R */
#define DELETE 0x7f
#define ESCAPE_MAX 6 /* bytes of an escaped character */

struct bytes {
	char *data;
	size_t n, room;
};

static struct {
	int fd;
	struct bytes in;  /* header and body of the incoming message */
	struct bytes out; /* data to send with the next message */
	void (*no_events)(void);
	bool starved; /* there was no memory for a message: the kernel cannot continue */
} line = { .fd = -1 };

static bool make_room(struct bytes *b, size_t more)
{
	if (b->room - b->n >= more)
		return true;
	size_t room = b->n + more < 4096 ? 4096 : (b->n + more) * 3 / 2;
	char *data = realloc(b->data, room);
	if (!data) {
		line.starved = true;
		return false;
	}
	b->data = data;
	b->room = room;
	return true;
}

static void empty(struct bytes *b)
{
	if (b->room > KEPT_MAX) {
		free(b->data);
		*b = (struct bytes){ 0 };
	}
	b->n = 0;
}

bool link_write_all(int fd, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t k = fd == line.fd ? send(fd, data, n, MSG_NOSIGNAL) : write(fd, data, n);
		if (k < 0 && errno == EAGAIN)
			(void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		else if (k < 0 && errno != EINTR)
			return false;
		data += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return true;
}

/* ---- out */

static bool put(struct bytes *b, const void *data, size_t n)
{
	if (!make_room(b, n))
		return false;
	memcpy(b->data + b->n, data, n);
	b->n += n;
	return true;
}

static bool put_text(struct bytes *b, const char *text)
{
	return put(b, text, strlen(text));
}

static bool put_base64(struct bytes *b, const uint8_t *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (n > MESSAGE_MAX || !make_room(b, (n + 2) / 3 * 4))
		return false;
	char *to = b->data + b->n;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t group = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
				 (i + 2 < n ? data[i + 2] : 0);
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = i + 1 < n ? digits[group >> 6 & 63] : '=';
		*to++ = i + 2 < n ? digits[group & 63] : '=';
	}
	b->n = (size_t)(to - b->data);
	return true;
}

/* Escapes as json_string() in link.R does. The buffer must have room. */
static void put_escaped(struct bytes *b, uint8_t c)
{
	static const char digits[] = "0123456789abcdef";
	static const char short_names[] = { ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['"'] = '"', ['\\'] = '\\' };
	char *to = b->data + b->n;
	if (c < sizeof(short_names) && short_names[c]) {
		to[0] = '\\';
		to[1] = short_names[c];
		b->n += 2;
	} else if (c < ' ' || c == DELETE) {
		memcpy(to, "\\u00", 4);
		to[4] = digits[c >> 4];
		to[5] = digits[c & 15];
		b->n += ESCAPE_MAX;
	} else {
		*to = (char)c;
		b->n++;
	}
}

/* Length of the UTF-8 sequence that begins here; 0 if it is invalid. */
static size_t sequence(const uint8_t *s, size_t n)
{
	if (s[0] < 0x80)
		return 1;
	size_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	if (length == 0 || length > n)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
		   (s[0] == 0xf4 && s[1] > 0x8f);
	return bad ? 0 : length;
}

/* Appends a text as JSON, without quotes and NULs. Returns false if the text is too long or not UTF-8. */
static bool put_string(struct bytes *b, const uint8_t *text, size_t n)
{
	size_t characters = 0, length;
	if (n > 4 * TEXT_MAX || !make_room(b, ESCAPE_MAX * n))
		return false;
	for (size_t i = 0; i < n; i += length) {
		length = sequence(text + i, n - i);
		if (length == 0 || ++characters > TEXT_MAX)
			return false;
		if (length > 1) {
			memcpy(b->data + b->n, text + i, length);
			b->n += length;
		} else if (text[i]) {
			put_escaped(b, text[i]);
		}
	}
	return true;
}

/* Appends a piece of a message: texts unchanged, or bytes as base64. */
static bool put_piece(struct bytes *b, SEXP piece)
{
	if (TYPEOF(piece) == RAWSXP)
		return put_base64(b, RAW(piece), (size_t)XLENGTH(piece));
	for (R_xlen_t i = 0; TYPEOF(piece) == STRSXP && i < XLENGTH(piece); i++) {
		SEXP text = STRING_ELT(piece, i);
		if (!put(b, R_CHAR(text), (size_t)LENGTH(text)))
			return false;
	}
	return TYPEOF(piece) == STRSXP;
}

/* Reserves room for the header; returns the start of the message. */
static size_t begin(struct bytes *b)
{
	size_t start = b->n;
	return make_room(b, HEADER) ? (b->n += HEADER, start) : SIZE_MAX;
}

/* Completes the message. If it is too long, drops it and returns false. */
static bool end(struct bytes *b, size_t start)
{
	size_t n = b->n - start - HEADER;
	if (n > MESSAGE_MAX) {
		b->n = start;
		return false;
	}
	for (int i = 0; i < HEADER; i++)
		b->data[start + (size_t)i] = (char)(n >> (24 - 8 * i));
	return true;
}

static bool flush(void)
{
	bool sent = link_write_all(line.fd, line.out.data, line.out.n);
	empty(&line.out);
	return sent;
}

bool link_send_text(const char *text)
{
	size_t start = begin(&line.out);
	return start != SIZE_MAX && put_text(&line.out, text) && end(&line.out, start) && flush();
}

int link_take_over(int fd)
{
	empty(&line.in);
	empty(&line.out);
	return dup3(fd, line.fd, O_CLOEXEC);
}

/* ---- in */

/* True if R has other things to do while it waits: callbacks of event loops (later, httpuv, Tk). */
static bool has_events(void)
{
	return R_wait_usec > 0 || R_PolledEvents != line.no_events || (R_InputHandlers && R_InputHandlers->next);
}

/* Reads the message up to this many bytes. Returns 0 when they are complete, EAGAIN if R must wait for more; any other
 * value means that the link has ended. */
static int receive(size_t wanted)
{
	struct bytes *in = &line.in;
	if (in->n < wanted && !make_room(in, wanted - in->n))
		return ENOMEM;
	while (in->n < wanted) {
		ssize_t k = recv(line.fd, in->data + in->n, wanted - in->n, MSG_DONTWAIT);
		if (k == 0)
			return ECONNRESET;
		if (k > 0)
			in->n += (size_t)k;
		else if (errno == EAGAIN && has_events())
			return EAGAIN;
		else if (errno == EAGAIN)
			(void)poll(&(struct pollfd){ .fd = line.fd, .events = POLLIN }, 1, -1);
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

struct text {
	const char *at, *end;
};

static void skip_space(struct text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\r' || *t->at == '\t'))
		t->at++;
}

static bool take(struct text *t, const char *word)
{
	size_t n = strlen(word);
	skip_space(t);
	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

static struct text take_digits(struct text *t)
{
	skip_space(t);
	struct text digits = { t->at, t->at };
	while (digits.end < t->end && *digits.end >= '0' && *digits.end <= '9')
		digits.end++;
	t->at = digits.end;
	return digits;
}

static const char unescaped[] = {
	['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['b'] = '\b', ['f'] = '\f', ['"'] = '"', ['\\'] = '\\', ['/'] = '/'
};

/* Takes the inside of a string, unchanged. Returns false if there is no string, or if it has an escape that R must
 * handle. */
static bool take_string(struct text *t, struct text *ret)
{
	if (!take(t, "\""))
		return false;
	for (ret->at = t->at; t->at < t->end && *t->at && *t->at != '"'; t->at++) {
		if (*t->at != '\\')
			continue;
		uint8_t escape = ++t->at < t->end ? (uint8_t)*t->at : 0;
		if (escape >= sizeof(unescaped) || !unescaped[escape])
			return false;
	}
	ret->end = t->at;
	return take(t, "\"");
}

/* Replaces escapes in place. */
static struct text unescape(struct text t)
{
	char *to = memchr(t.at, '\\', (size_t)(t.end - t.at));
	if (!to)
		return t;
	for (const char *from = to; from < t.end; from++)
		*to++ = *from == '\\' ? unescaped[(uint8_t) * ++from] : *from;
	t.end = to;
	return t;
}

static bool is_utf8(struct text t)
{
	size_t length = 1;
	for (const char *at = t.at; at < t.end && length > 0; at += length)
		length = sequence((const uint8_t *)at, (size_t)(t.end - at));
	return length > 0;
}

static SEXP as_string(struct text t)
{
	return Rf_ScalarString(Rf_mkCharLenCE(t.at, (int)(t.end - t.at), CE_UTF8));
}

/* Reads a message that only has a cell's code, as most do, into list(op, id, code). Returns NULL for any other message
 * and leaves the body unchanged. */
static SEXP read_cell(char *body, size_t n)
{
	static const char *const names[] = { "op", "id", "code", "" };
	struct text t = { body, body + n }, id, code;
	if (!take(&t, "{") || !take(&t, "\"op\"") || !take(&t, ":") || !take(&t, "\"execute\"") || !take(&t, ",") ||
	    !take(&t, "\"id\"") || !take(&t, ":"))
		return R_NilValue;
	id = take_digits(&t);
	if (id.at == id.end || !take(&t, ",") || !take(&t, "\"code\"") || !take(&t, ":") || !take_string(&t, &code) ||
	    !take(&t, "}") || t.at != t.end || !is_utf8(code))
		return R_NilValue;
	SEXP cell = PROTECT(Rf_mkNamed(VECSXP, (const char **)names));
	SET_VECTOR_ELT(cell, 0, Rf_mkString("execute"));
	SET_VECTOR_ELT(cell, 1, as_string(id));
	SET_VECTOR_ELT(cell, 2, as_string(unescape(code)));
	UNPROTECT(1);
	return cell;
}

/* ---- called by R */

/* `fd` is the kernel's end of the link, which PID 1 has opened. */
SEXP link_open(SEXP fd)
{
	line.no_events = R_PolledEvents;
	line.fd = Rf_asInteger(fd);
	(void)fcntl(line.fd, F_SETFD, FD_CLOEXEC);
	return R_NilValue;
}

/* Waits until the link can be read or an event handler has run. Returns TRUE in the first case. Errors of handlers, and
 * interrupts, leave this function by a jump: R_SelectEx() lets interrupts in even if they are suspended. */
SEXP link_wait(void)
{
	struct timeval limit = { .tv_sec = R_wait_usec > 0 ? 0 : IDLE_SECONDS,
				 .tv_usec = R_wait_usec > 0 ? R_wait_usec : 0 };
	int last = line.fd;
	fd_set ready;
	R_PolledEvents();
	FD_ZERO(&ready);
	FD_SET(line.fd, &ready);
	for (InputHandler *h = R_InputHandlers; h; h = h->next) {
		if (h->fileDescriptor <= STDIN_FILENO)
			continue;
		FD_SET(h->fileDescriptor, &ready);
		last = h->fileDescriptor > last ? h->fileDescriptor : last;
	}
	int n = R_SelectEx(last + 1, &ready, NULL, NULL, &limit, NULL);
	if (n < 0 || FD_ISSET(line.fd, &ready))
		return Rf_ScalarLogical(n > 0 || errno != EINTR);
	InputHandler *selected = n > 0 ? getSelectedHandler(R_InputHandlers, &ready) : NULL;
	if (selected)
		selected->handler(selected->userData);
	return Rf_ScalarLogical(0);
}

/* Returns the next message: a list for a plain cell, or the bytes of any other message. NULL if R must wait for it,
 * FALSE at the end of the link. */
SEXP link_next(void)
{
	size_t size = 0;
	int r = receive(HEADER);
	if (r == 0) {
		for (int i = 0; i < HEADER; i++)
			size = size << 8 | (uint8_t)line.in.data[i];
		r = size > 0 && size <= CODE_MESSAGE_MAX ? receive(HEADER + size) : EPROTO;
	}
	if (r != 0)
		return r == EAGAIN ? R_NilValue : Rf_ScalarLogical(0);
	char *body = line.in.data + HEADER;
	SEXP message = PROTECT(read_cell(body, size));
	if (message == R_NilValue) {
		UNPROTECT(1);
		message = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
		memcpy(RAW(message), body, size);
	}
	empty(&line.in);
	UNPROTECT(1);
	return message;
}

/* Sends a message, given in pieces: texts, or a list of texts and bytes. With `hold`, it is sent with the next message.
 * Returns FALSE, and sends nothing, if the message is too long; NULL if the link is closed. */
SEXP link_send(SEXP pieces, SEXP hold)
{
	size_t start = begin(&line.out);
	bool fits = start != SIZE_MAX;
	if (TYPEOF(pieces) == VECSXP)
		for (R_xlen_t i = 0; fits && i < XLENGTH(pieces); i++)
			fits = put_piece(&line.out, VECTOR_ELT(pieces, i)) &&
			       line.out.n - start <= MESSAGE_MAX + HEADER;
	else
		fits = fits && put_piece(&line.out, pieces);
	if (!fits || !end(&line.out, start)) {
		line.out.n = start == SIZE_MAX ? line.out.n : start;
		return line.starved ? R_NilValue : Rf_ScalarLogical(0);
	}
	return Rf_asLogical(hold) || flush() ? Rf_ScalarLogical(1) : R_NilValue;
}

/* Makes this text the result of cell `id`, to be sent with the next message. Returns FALSE if the text is too long or
 * not UTF-8. */
SEXP link_result(SEXP id, SEXP text)
{
	struct bytes *out = &line.out;
	size_t start = begin(out);
	if (start == SIZE_MAX || !put_text(out, "{\"op\":\"result\",\"id\":") ||
	    !put_text(out, R_CHAR(STRING_ELT(id, 0))) || !put_text(out, ",\"data\":{\"text/plain\":\"") ||
	    !put_string(out, RAW(text), (size_t)XLENGTH(text)) || !put_text(out, "\"}}") || !end(out, start)) {
		out->n = start == SIZE_MAX ? out->n : start;
		return Rf_ScalarLogical(0);
	}
	return Rf_ScalarLogical(1);
}

/* TRUE if the variable is a promise that was not forced yet, as after delayedAssign(): reading it would run code. The
 * variable must exist and not be an active binding. rlang could tell this too, but it loads cli, whose thread wakes up
 * several times a second. */
SEXP link_is_promise(SEXP environment, SEXP name)
{
	SEXP value = Rf_findVarInFrame3(environment, Rf_installTrChar(STRING_ELT(name, 0)), TRUE);
	return Rf_ScalarLogical(TYPEOF(value) == PROMSXP && PRVALUE(value) == R_UnboundValue);
}

/* Drops an interrupt that came between two cells. Returns FALSE if R must drop it, because callbacks must run. */
SEXP link_forget_interrupt(void)
{
	if (has_events())
		return Rf_ScalarLogical(0);
	R_interrupts_pending = 0;
	return Rf_ScalarLogical(1);
}
