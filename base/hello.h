/* Reads the beginning of TLS as a client sends it: the name of the host (SNI) in a ClientHello. */
#ifndef HUSK_BASE_HELLO_H
#define HUSK_BASE_HELLO_H

#include "base/buf.h"

/* Maximum size of a hello, over all its records. */
#define HELLO_MAX (16u << 10)
/* A name of at most 253 bytes. */
#define HELLO_NAME_SIZE 254

enum hello_record { HELLO_CHANGE_CIPHER = 20, HELLO_ALERT = 21, HELLO_HANDSHAKE = 22, HELLO_DATA = 23 };

/* The record at the beginning of the data: its whole size, or 0 if more bytes are needed, or -EPROTO if it is not TLS.
 */
ssize_t hello_record(const void *data, size_t n, enum hello_record *ret_type);
/* Adds the content of a handshake record to a message. -EPROTO if that becomes longer than HELLO_MAX. */
int hello_add(struct buf *message, const void *record, size_t size);
/* Reads a message of a handshake that begins with a ClientHello. 1 = `ret_name` is its name in lower case, of which the caller
 * checks the characters, or "" if it names no host; 0 = the message is not complete; -EPROTO if it is something else, or not valid, or has more than one
 * name. */
int hello_read(const struct buf *message, char ret_name[HELLO_NAME_SIZE]);
/* Tells whether a server asks the client for a second hello, by the first bytes that it sends: 1 = yes, 0 = no, -EAGAIN
 * if more bytes are needed. */
int hello_is_retry(const void *data, size_t n);

#endif
