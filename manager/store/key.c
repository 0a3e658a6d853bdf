#include "manager/store/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dirs.h"

#define KEY_FILE "settings.key"
#define SECRET_MIN 16
#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES
#define BASE64 sodium_base64_VARIANT_ORIGINAL

static const char purpose[] = "husk settings key 1";

void key_init(struct key *k, const char *secret, const char *dir)
{
	*k = (struct key){ .secret = secret ? xstrdup(secret) : NULL, .dir = xstrdup(dir) };
}

void key_release(struct key *k)
{
	if (k->secret)
		sodium_memzero(k->secret, strlen(k->secret));
	sodium_memzero(k->bytes, sizeof(k->bytes));
	sodium_memzero(k->chain, sizeof(k->chain));
	free(k->secret);
	free(k->dir);
	*k = (struct key){ 0 };
}

/* --- where the key comes from ------------------------------------------------------------------------------------ */

static int from_setting(struct key *k, struct fail *f)
{
	size_t n = strlen(k->secret);
	if (n < SECRET_MIN) {
		fail_set(f, FAIL_STORE, "setting ENCRYPTION_KEY: shorter than %d characters", SECRET_MIN);
		return fail_hint(f, "make a random one, for example with: openssl rand -base64 32");
	}
	crypto_generichash(k->bytes, KEY_BYTES, (const unsigned char *)k->secret, n, (const unsigned char *)purpose,
			   sizeof(purpose) - 1);
	return 0;
}

static int not_a_key(const char *path, const char *why, struct fail *f)
{
	fail_set(f, FAIL_STORE, "cannot use the key file '%s': %s", path, why);
	return fail_hint(
		f,
		"restore the file, or set ENCRYPTION_KEY; settings that were encrypted with this key cannot be read without it");
}

/* Returns 1 if the file does not exist. */
static int read_file(struct key *k, const char *path, struct fail *f)
{
	char hex[2 * KEY_BYTES + 1] = { 0 };
	struct stat st;
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return not_a_key(path, strerror(errno), f);
	if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0))
		return not_a_key(path, "it does not belong to the user who runs husk, or is not a file", f);
	if (st.st_mode & 077) {
		fail_set(f, FAIL_STORE, "the key file '%s' is open to other users", path);
		return fail_hint(f, "chmod 600 '%s', and assume that other users know the settings encrypted with it",
				 path);
	}
	size_t n = 0;
	bool good = read(fd, hex, sizeof(hex) - 1) == 2 * KEY_BYTES &&
		    sodium_hex2bin(k->bytes, KEY_BYTES, hex, 2 * KEY_BYTES, NULL, &n, NULL) == 0 && n == KEY_BYTES;
	sodium_memzero(hex, sizeof(hex));
	return good ? 0 : not_a_key(path, "it does not contain a Husk key", f);
}

static int write_key(int fd, struct fail *f, const char *path)
{
	uint8_t bytes[KEY_BYTES];
	char hex[2 * KEY_BYTES + 1];
	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(hex, sizeof(hex), bytes, sizeof(bytes));
	bool good = write(fd, hex, 2 * KEY_BYTES) == 2 * KEY_BYTES && fsync(fd) == 0;
	sodium_memzero(bytes, sizeof(bytes));
	sodium_memzero(hex, sizeof(hex));
	return good ? 0 : not_a_key(path, strerror(errno), f);
}

static void sync_dir(const char *dir)
{
	AUTO(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

/* The first process to link a complete file wins; the others read that file. */
static int make_file(const struct key *k, const char *path, struct fail *f)
{
	AUTO(freep) char *temporary = xasprintf("%s.%08x%08x", path, randombytes_random(), randombytes_random());
	AUTO(closep) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return not_a_key(path, strerror(errno), f);
	int r = write_key(fd, f, path);
	if (r == 0 && link(temporary, path) < 0 && errno != EEXIST)
		r = not_a_key(path, strerror(errno), f);
	unlink(temporary);
	sync_dir(k->dir);
	return r;
}

static int from_file(struct key *k, struct fail *f)
{
	AUTO(freep) char *path = xasprintf("%s/" KEY_FILE, k->dir);
	int r = dirs_make(k->dir);
	if (r < 0)
		return not_a_key(path, strerror(-r), f);
	r = read_file(k, path, f);
	if (r <= 0)
		return r;
	if (make_file(k, path, f) < 0)
		return -1;
	r = read_file(k, path, f);
	return r == 1 ? not_a_key(path, "another program keeps removing it", f) : r;
}

static int load(struct key *k, struct fail *f)
{
	static const char chain_purpose[] = "husk chain key 1";
	if (k->loaded)
		return 0;
	if (sodium_init() < 0)
		return fail_set(f, FAIL_INTERNAL, "cannot initialize libsodium");
	if ((k->secret ? from_setting : from_file)(k, f) < 0)
		return -1;
	/* Hashing uses a derived key, which reveals nothing about the key that seals settings. */
	crypto_generichash(k->chain, sizeof(k->chain), (const unsigned char *)chain_purpose, sizeof(chain_purpose) - 1,
			   k->bytes, KEY_BYTES);
	k->loaded = true;
	return 0;
}

/* --- sealing and hashing ----------------------------------------------------------------------------------------- */

int key_seal(struct key *k, const char *name, const char *text, char **ret, struct fail *f)
{
	if (load(k, f) < 0)
		return -1;
	size_t n = strlen(text), total = NONCE_BYTES + n + TAG_BYTES;
	AUTO(freep) uint8_t *bytes = xmalloc(total);
	randombytes_buf(bytes, NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(bytes + NONCE_BYTES, NULL, (const unsigned char *)text, n,
						   (const unsigned char *)name, strlen(name), NULL, bytes, k->bytes);
	size_t size = sodium_base64_encoded_len(total, BASE64);
	char *sealed = xmalloc(size);
	sodium_bin2base64(sealed, size, bytes, total, BASE64);
	*ret = sealed;
	return 0;
}

static int does_not_open(const char *name, struct fail *f)
{
	fail_set(f, FAIL_STORE, "the stored setting '%s' cannot be decrypted with this key", name);
	return fail_hint(
		f,
		"set the ENCRYPTION_KEY that it was stored under (servers that share a store need the same one), or store it again");
}

int key_open(struct key *k, const char *name, const char *sealed, char **ret, struct fail *f)
{
	if (load(k, f) < 0)
		return -1;
	size_t length = strlen(sealed), n = 0;
	AUTO(freep) uint8_t *bytes = xmalloc(length + 1);
	if (sodium_base642bin(bytes, length, sealed, length, NULL, &n, NULL, BASE64) != 0 ||
	    n < NONCE_BYTES + TAG_BYTES)
		return does_not_open(name, f);
	AUTO(freep) char *text = xcalloc(1, n - NONCE_BYTES - TAG_BYTES + 1);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)text, NULL, NULL, bytes + NONCE_BYTES,
						       n - NONCE_BYTES, (const unsigned char *)name, strlen(name),
						       bytes, k->bytes) != 0)
		return does_not_open(name, f);
	*ret = take_ptr(text);
	return 0;
}

int key_hash(struct key *k, const void *data, size_t n, char ret[KEY_HASH_SIZE], struct fail *f)
{
	uint8_t hash[KEY_HASH_SIZE / 2];
	if (load(k, f) < 0)
		return -1;
	crypto_generichash(hash, sizeof(hash), data, n, k->chain, sizeof(k->chain));
	sodium_bin2hex(ret, KEY_HASH_SIZE, hash, sizeof(hash));
	return 0;
}
