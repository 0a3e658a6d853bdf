#include "base/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/library.h"

#define EARLY_MAX (64u << 10)
#define CHUNK 16384 /* maximum size of a record */

#define FUNCTIONS(X)                                                                                                   \
	X(BIO_ctrl)                                                                                                    \
	X(BIO_new)                                                                                                     \
	X(BIO_read)                                                                                                    \
	X(BIO_s_mem)                                                                                                   \
	X(BIO_write)                                                                                                   \
	X(ERR_clear_error)                                                                                             \
	X(ERR_peek_last_error)                                                                                         \
	X(ERR_reason_error_string)                                                                                     \
	X(SSL_CTX_callback_ctrl)                                                                                       \
	X(SSL_CTX_ctrl)                                                                                                \
	X(SSL_CTX_free)                                                                                                \
	X(SSL_CTX_get_ex_data)                                                                                         \
	X(SSL_CTX_load_verify_file)                                                                                    \
	X(SSL_CTX_new)                                                                                                 \
	X(SSL_CTX_set_alpn_protos)                                                                                     \
	X(SSL_CTX_set_alpn_select_cb)                                                                                  \
	X(SSL_CTX_set_ciphersuites)                                                                                    \
	X(SSL_CTX_set_default_verify_paths)                                                                            \
	X(SSL_CTX_set_ex_data)                                                                                         \
	X(SSL_CTX_set_num_tickets)                                                                                     \
	X(SSL_CTX_set_options)                                                                                         \
	X(SSL_CTX_set_psk_client_callback)                                                                             \
	X(SSL_CTX_set_psk_server_callback)                                                                             \
	X(SSL_CTX_set_verify)                                                                                          \
	X(SSL_CTX_use_PrivateKey_ASN1)                                                                                 \
	X(SSL_CTX_use_PrivateKey_file)                                                                                 \
	X(SSL_CTX_use_certificate_ASN1)                                                                                \
	X(SSL_CTX_use_certificate_chain_file)                                                                          \
	X(SSL_ctrl)                                                                                                    \
	X(SSL_do_handshake)                                                                                            \
	X(SSL_free)                                                                                                    \
	X(SSL_get_SSL_CTX)                                                                                             \
	X(SSL_get_error)                                                                                               \
	X(SSL_get_ex_data)                                                                                             \
	X(SSL_get_servername)                                                                                          \
	X(SSL_get_verify_result)                                                                                       \
	X(SSL_is_init_finished)                                                                                        \
	X(SSL_new)                                                                                                     \
	X(SSL_read)                                                                                                    \
	X(SSL_session_reused)                                                                                          \
	X(SSL_set1_host)                                                                                               \
	X(SSL_set_accept_state)                                                                                        \
	X(SSL_set_bio)                                                                                                 \
	X(SSL_set_connect_state)                                                                                       \
	X(SSL_set_ex_data)                                                                                             \
	X(SSL_set_verify)                                                                                              \
	X(SSL_shutdown)                                                                                                \
	X(SSL_write)                                                                                                   \
	X(TLS_client_method)                                                                                           \
	X(TLS_method)                                                                                                  \
	X(TLS_server_method)                                                                                           \
	X(X509_verify_cert_error_string)

/* As TLS lists protocols: the length, then the name. */
static const char http1[] = "\x08http/1.1";

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libssl = LIBRARY(FUNCTIONS, "libhusk-ssl.so.3", "libssl.so.3", "libssl.3.dylib");

struct tls_context {
	SSL_CTX *ctx;
	char *secret;	     /* NULL = none */
	bool shared;	     /* without certificates: both sides must prove the secret */
	char *name;	     /* the only name that clients may ask for; NULL = any. Owned */
	unsigned references; /* connections and owners */
};

struct tls {
	struct tls_context *context;
	SSL *ssl;
	BIO *in, *out;	  /* owned by ssl */
	struct buf early; /* data to send once the handshake has ended */
	bool shared;	  /* nothing but the secret is accepted */
	bool failed;
	char error[160];
};

/* The name of the secret in the handshake, which OpenSSL asks for. */
#define SECRET_NAME "husk"
/* Where a SSL_CTX has its context. */
#define CONTEXT_SLOT 0

static const char *last_reason(void)
{
	const char *reason = lib.ERR_reason_error_string(lib.ERR_peek_last_error());
	return reason ? reason : "no reason was given";
}

enum side { SERVER, CLIENT, BOTH };

static const SSL_METHOD *method_of(enum side side)
{
	return side == SERVER ? lib.TLS_server_method() : side == CLIENT ? lib.TLS_client_method() : lib.TLS_method();
}

static struct tls_context *context_new(enum side side, struct fail *f)
{
	if (!library_load(&libssl)) {
		fail_set(f, FAIL_INTERNAL, "cannot load OpenSSL (libssl 3)");
		fail_hint(f, "Install the package libssl3.");
		return NULL;
	}
	struct tls_context *c = new0(struct tls_context);
	c->references = 1;
	c->ctx = lib.SSL_CTX_new(method_of(side));
	if (!c->ctx) {
		fail_set(f, FAIL_INTERNAL, "cannot set up OpenSSL: %s", last_reason());
		free(c);
		return NULL;
	}
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
	lib.SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	return c;
}

struct tls_context *tls_context_server(const char *certificate, const char *key, struct fail *f)
{
	struct tls_context *c = context_new(SERVER, f);
	if (!c)
		return NULL;
	lib.ERR_clear_error();
	if (lib.SSL_CTX_use_certificate_chain_file(c->ctx, certificate) != 1)
		fail_set(f, FAIL_INVALID, "cannot read the certificate '%s': %s", certificate, last_reason());
	else if (lib.SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM) != 1)
		fail_set(f, FAIL_INVALID, "cannot use the private key '%s': %s", key, last_reason());
	else
		return c;
	return tls_context_free(c);
}

struct tls_context *tls_context_client(const char *ca_file, struct fail *f)
{
	struct tls_context *c = context_new(CLIENT, f);
	if (!c)
		return NULL;
	lib.ERR_clear_error();
	lib.SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	int ok = ca_file ? lib.SSL_CTX_load_verify_file(c->ctx, ca_file) : lib.SSL_CTX_set_default_verify_paths(c->ctx);
	if (ok == 1)
		return c;
	fail_set(f, FAIL_INVALID, "cannot read the certificates '%s': %s", ca_file ? ca_file : "of the system",
		 last_reason());
	return tls_context_free(c);
}

/* --- a shared secret ----------------------------------------------------------------------------------------------- */

/* Returns the length of the secret, 0 = none. */
static unsigned copy_secret(const SSL *ssl, unsigned char *ret, unsigned max)
{
	const struct tls_context *c = lib.SSL_CTX_get_ex_data(lib.SSL_get_SSL_CTX(ssl), CONTEXT_SLOT);
	size_t n = c && c->secret ? strlen(c->secret) : 0;
	if (!n || n > max)
		return 0;
	memcpy(ret, c->secret, n);
	return (unsigned)n;
}

static unsigned on_server_secret(SSL *ssl, const char *name, unsigned char *ret, unsigned max)
{
	return streq(name, SECRET_NAME) ? copy_secret(ssl, ret, max) : 0;
}

static unsigned on_client_secret(SSL *ssl, const char *hint UNUSED, char *name, unsigned name_max, unsigned char *ret,
				 unsigned max)
{
	snprintf(name, name_max, "%s", SECRET_NAME);
	return copy_secret(ssl, ret, max);
}

/* Without tickets, a session that is called resumed is one that began with the secret. */
void tls_context_add_shared(struct tls_context *c, const char *secret)
{
	if (!c->secret)
		c->secret = xstrdup(secret);
	lib.SSL_CTX_set_ex_data(c->ctx, CONTEXT_SLOT, c);
	lib.SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET);
	lib.SSL_CTX_set_num_tickets(c->ctx, 0);
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	lib.SSL_CTX_set_psk_server_callback(c->ctx, on_server_secret);
}

struct tls_context *tls_context_shared(const char *secret, struct fail *f)
{
	struct tls_context *c = context_new(BOTH, f);
	if (!c)
		return NULL;
	c->shared = true;
	/* OpenSSL uses such a secret only with SHA-256, and a server with a certificate would prefer another hash. */
	lib.SSL_CTX_set_ciphersuites(c->ctx, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256");
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL);
	lib.SSL_CTX_set_psk_client_callback(c->ctx, on_client_secret);
	tls_context_add_shared(c, secret);
	return c;
}

/* --- contexts for one name ------------------------------------------------------------------------------------------ */

static void say(struct tls *t, const char *why)
{
	if (!t->failed)
		snprintf(t->error, sizeof(t->error), "%s", why);
	t->failed = true;
}

/* Called for each hello, also for one without a name. */
static int check_name(SSL *ssl, int *alert, void *arg)
{
	const struct tls_context *c = arg;
	const char *name = lib.SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	if (name && strcasecmp(name, c->name) == 0)
		return SSL_TLSEXT_ERR_OK;
	say(lib.SSL_get_ex_data(ssl, 0), name ? "the hello names another host" : "the hello names no host (SNI)");
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Only called if the client lists protocols. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_n, const unsigned char *in,
			   unsigned n, void *arg UNUSED)
{
	for (unsigned at = 0; at < n; at += 1 + in[at])
		if (in[at] == sizeof(http1) - 2 && at + in[at] < n && memcmp(in + at, http1, sizeof(http1) - 1) == 0) {
			*ret = in + at + 1;
			*ret_n = in[at];
			return SSL_TLSEXT_ERR_OK;
		}
	say(lib.SSL_get_ex_data(ssl, 0), "the client does not speak HTTP/1.1");
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A callback without its type, as the library takes it. */
union callback {
	int (*typed)(SSL *, int *, void *);
	void (*plain)(void);
};

struct tls_context *tls_context_named(const char *host, const struct buf *certificate, const struct buf *key,
				      struct fail *f)
{
	struct tls_context *c = context_new(SERVER, f);
	union callback callback = { .typed = check_name };
	if (!c)
		return NULL;
	lib.ERR_clear_error();
	if (lib.SSL_CTX_use_certificate_ASN1(c->ctx, (int)certificate->len, certificate->data) != 1 ||
	    lib.SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, c->ctx, key->data, (long)key->len) != 1) {
		fail_set(f, FAIL_INTERNAL, "cannot use the certificate for %s: %s", host, last_reason());
		return tls_context_free(c);
	}
	c->name = xstrdup(host);
	lib.SSL_CTX_callback_ctrl(c->ctx, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, callback.plain);
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, c);
	lib.SSL_CTX_set_alpn_select_cb(c->ctx, choose_protocol, NULL);
	/* A resumed connection would not be faster than one with this small key, and tickets take memory. */
	lib.SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	lib.SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET);
	lib.SSL_CTX_set_num_tickets(c->ctx, 0);
	return c;
}

void tls_context_offer_http1(struct tls_context *c)
{
	lib.SSL_CTX_set_alpn_protos(c->ctx, (const unsigned char *)http1, sizeof(http1) - 1);
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
	c->references++;
	return c;
}

struct tls_context *tls_context_free(struct tls_context *c)
{
	if (!c || --c->references)
		return NULL;
	lib.SSL_CTX_free(c->ctx);
	if (c->secret)
		explicit_bzero(c->secret, strlen(c->secret));
	free(c->secret);
	free(c->name);
	free(c);
	return NULL;
}

/* --- connections ---------------------------------------------------------------------------------------------------- */

struct tls *tls_new(struct tls_context *c, const char *host)
{
	struct tls *t = new0(struct tls);
	t->early.max = EARLY_MAX;
	t->shared = c->shared;
	t->ssl = lib.SSL_new(c->ctx);
	t->in = t->ssl ? lib.BIO_new(lib.BIO_s_mem()) : NULL;
	t->out = t->in ? lib.BIO_new(lib.BIO_s_mem()) : NULL;
	if (!t->out)
		abort(); /* out of memory */
	t->context = c;
	c->references++;
	lib.SSL_set_ex_data(t->ssl, 0, t);
	lib.SSL_set_bio(t->ssl, t->in, t->out);
	if (!host) {
		lib.SSL_set_accept_state(t->ssl);
		return t;
	}
	lib.SSL_set_connect_state(t->ssl);
	if (c->shared) {
		/* No authority is trusted, so a server that sends a certificate is rejected. */
		lib.SSL_set_verify(t->ssl, SSL_VERIFY_PEER, NULL);
		return t;
	}
	lib.SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)host);
	return lib.SSL_set1_host(t->ssl, host) == 1 ? t : tls_free(t);
}

struct tls *tls_free(struct tls *t)
{
	if (!t)
		return NULL;
	lib.SSL_free(t->ssl);
	tls_context_free(t->context);
	buf_release(&t->early);
	free(t);
	return NULL;
}

static void move_out(struct tls *t, struct buf *out)
{
	uint8_t chunk[CHUNK];
	int n;
	while ((n = lib.BIO_read(t->out, chunk, sizeof(chunk))) > 0)
		buf_add(out, chunk, (size_t)n);
}

static int set_error(struct tls *t)
{
	long verified = lib.SSL_get_verify_result(t->ssl);
	say(t, verified != X509_V_OK ? lib.X509_verify_cert_error_string(verified) : last_reason());
	return -EPROTO;
}

/* Only these two mean that more bytes are needed. */
static bool must_wait(struct tls *t, int r)
{
	int error = lib.SSL_get_error(t->ssl, r);
	return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static int write_plain(struct tls *t, const void *data, size_t n)
{
	const uint8_t *at = data;
	while (n) {
		int done = lib.SSL_write(t->ssl, at, (int)MIN(n, (size_t)CHUNK));
		if (done <= 0)
			return set_error(t);
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

static int shake_hands(struct tls *t)
{
	if (lib.SSL_is_init_finished(t->ssl))
		return 0;
	int r = lib.SSL_do_handshake(t->ssl);
	if (r != 1)
		return must_wait(t, r) ? 0 : set_error(t);
	if (t->shared && !lib.SSL_session_reused(t->ssl))
		return set_error(t);
	int written = write_plain(t, t->early.data, t->early.len);
	buf_release(&t->early);
	return written;
}

static int read_plain(struct tls *t, struct buf *plain)
{
	uint8_t chunk[CHUNK];
	int n;
	while ((n = lib.SSL_read(t->ssl, chunk, sizeof(chunk))) > 0)
		if (buf_add(plain, chunk, (size_t)n) < 0)
			return -ENOBUFS;
	if (lib.SSL_get_error(t->ssl, n) == SSL_ERROR_ZERO_RETURN)
		return 1;
	return must_wait(t, n) ? 0 : set_error(t);
}

int tls_receive(struct tls *t, const void *data, size_t n, struct buf *plain, struct buf *out)
{
	if (t->failed)
		return -EPROTO;
	lib.ERR_clear_error();
	if (lib.BIO_write(t->in, data, (int)n) != (int)n)
		return set_error(t);
	int r = shake_hands(t);
	if (r == 0 && lib.SSL_is_init_finished(t->ssl))
		r = read_plain(t, plain);
	move_out(t, out); /* including an alert */
	return r;
}

int tls_send(struct tls *t, const void *data, size_t n, struct buf *out)
{
	if (t->failed)
		return -EPROTO;
	lib.ERR_clear_error();
	int r = shake_hands(t);
	if (r == 0 && n)
		r = lib.SSL_is_init_finished(t->ssl) ? write_plain(t, data, n) : buf_add(&t->early, data, n);
	move_out(t, out);
	return r;
}

bool tls_is_ready(const struct tls *t)
{
	return !t->failed && lib.SSL_is_init_finished(t->ssl);
}

void tls_finish(struct tls *t, struct buf *out)
{
	lib.ERR_clear_error();
	if (!t->failed && lib.SSL_is_init_finished(t->ssl))
		lib.SSL_shutdown(t->ssl);
	move_out(t, out);
}

bool tls_is_shared(const struct tls *t)
{
	return !t->failed && lib.SSL_is_init_finished(t->ssl) && lib.SSL_session_reused(t->ssl);
}

const char *tls_error(const struct tls *t)
{
	return t->error;
}
