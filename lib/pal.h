/* SPDX-License-Identifier: Apache-2.0
 * pal.h: the contract between a PAL port and those who use or test it: five tables of functions and one struct.
 * It holds no code, and needs nothing but a hosted C11 (or C++) compiler on a POSIX system.
 * It breaks when a field is moved: append only, and raise PAL_ABI_VERSION.
 *
 * Common rules, not repeated below:
 *  - Lengths and capacities are in bytes. A length is never a capacity.
 *  - A view is borrowed: it dies with the call that it was given to. {NULL, 0} and {pointer, 0} mean the same.
 *    NULL with a length above 0 is answered by PAL_BAD_ARGUMENT and never read.
 *  - Any status but PAL_OK leaves every output untouched, unless the function says otherwise.
 *  - Ownership moves only on PAL_OK.
 *  - A function may be called from any thread; one object may be used by one thread at a time.
 */
#ifndef PAL_H
#define PAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAL_ABI_VERSION 1u

#if defined(__GNUC__)
#define PAL_MUST_USE __attribute__((warn_unused_result))
#else
#define PAL_MUST_USE
#endif

/* pal_status: what an operation answers; see status.def. It never shares the return value with a size. */
enum pal_status {
#define STATUS(name, text, sentence) PAL_##name,
#include "status.def"
#undef STATUS
    PAL_NUM_STATUSES
};

/* pal_status_name: the row's text, for example "bad-tag"; "?" for a number outside the table. Static storage. */
const char *pal_status_name(enum pal_status status);

/* pal_view: bytes borrowed for reading. */
struct pal_view {
    const uint8_t *data;
    size_t len;
};

/* pal_view_valid: whether a view may be read: it has a pointer, or no bytes. */
static inline bool pal_view_valid(struct pal_view view)
{
    return view.data != NULL || view.len == 0;
}

/* pal_mode: the plain way, which is trusted because it keeps nothing, and the way that keeps something to be fast.
 * FRESH: a new allocation per token, a one-shot crypto context. REUSED: pooled tokens, cached contexts. */
enum pal_mode { PAL_FRESH, PAL_REUSED, PAL_NUM_MODES };

/* ---- environment ------------------------------------------------------------------------------------------------ */

/* pal_buffer: one rental. `slot` and `generation` make a stale copy recognisable; only the pool gives them a meaning.
 * {0} is no rental, and may be released. */
struct pal_buffer {
    uint8_t *data;
    size_t cap;
    uint32_t slot;
    uint32_t generation;
};

/* pal_env: all of the world that a port may reach. The caller owns it; it outlives every object, rental and cached
 * context made through it (contexts go with drop(), or with their thread). All functions take `context` first and may
 * be called from any thread. A port that calls malloc, time, rand or sendmsg by itself cannot be tested. */
struct pal_env {
    void *context;

    /* alloc: `len` > 0 bytes aligned for any type, contents undefined, or NULL. */
    void *(*alloc)(void *context, size_t len);
    /* free: gives back what alloc of this environment gave; NULL is nothing. */
    void (*free)(void *context, void *memory);

    /* rent, release: the pool, as in pal_pool_ops. NULL where the caller has no pool. */
    enum pal_status (*rent)(void *context, struct pal_buffer *out, size_t min_cap);
    enum pal_status (*release)(void *context, struct pal_buffer *buffer, bool clear);

    /* random: fills `len` bytes, or PAL_NO_RANDOM and nothing. */
    enum pal_status (*random)(void *context, uint8_t *out, size_t len);

    /* now_ns: monotonic nanoseconds, for deadlines. unix_time: seconds since 1970, for tickets and certificates. */
    uint64_t (*now_ns)(void *context);
    int64_t (*unix_time)(void *context);

    /* sendmsg: one call to the kernel's sendmsg(2) on a stream socket; `flags` are MSG_*. *out_sent is set on PAL_OK
     * only. A short count is PAL_OK. PAL_WOULD_BLOCK, PAL_RESET, PAL_BROKEN_PIPE, PAL_NO_MEMORY (ENOBUFS), PAL_TOO_LONG
     * (EMSGSIZE), PAL_SYSTEM say that nothing was taken. EINTR is repeated inside. */
    enum pal_status (*sendmsg)(void *context, size_t *out_sent, int socket, const struct iovec *segments,
                               size_t num_segments, int flags);
    /* sendfile: one call to sendfile(2) with an explicit offset; the file's position is not moved. *out_sent 0 with
     * PAL_OK means that the file has no bytes there. Raises no SIGPIPE. */
    enum pal_status (*sendfile)(void *context, size_t *out_sent, int socket, int file, uint64_t offset, size_t len);
    /* file_size: the size of a readable regular file; PAL_BAD_ARGUMENT for anything else. */
    enum pal_status (*file_size)(void *context, uint64_t *out_size, int file);
    /* wait_writable: returns PAL_OK when `socket` takes bytes (or spuriously), PAL_TIMED_OUT at `deadline_ns` of
     * now_ns; UINT64_MAX waits for ever. */
    enum pal_status (*wait_writable)(void *context, int socket, uint64_t deadline_ns);
};

/* ---- pool ---------------------------------------------------------------------------------------------------------
 */

struct pal_pool; /* the port's own */

/* pal_pool_stats: counts since the pool was made; bytes are capacities. While other threads rent and release, the
 * fields may be of slightly different moments; none is lost. */
struct pal_pool_stats {
    uint64_t rents;
    uint64_t releases;
    uint64_t allocations; /* rents that no idle buffer could serve */
    uint64_t refusals;    /* releases answered by PAL_REFUSED, and idle buffers found written to */
    uint64_t rented_bytes;
    uint64_t idle_bytes;
    uint64_t idle_bytes_max; /* the bound that idle_bytes never passes */
};

/* pal_pool_config: bounds of a pool; 0 takes the port's own. */
struct pal_pool_config {
    size_t pooled_cap_max; /* a larger rental is exact and is never kept */
    size_t idle_bytes_max; /* over all threads */
    bool hostile;          /* for tests: another buffer on each rent, exact size (1 byte for 0), poison on release */
};

/* pal_pool_ops: rented buffers. Buckets are powers of two from 16 bytes. */
struct pal_pool_ops {
    /* open: a pool that takes memory from `env`. PAL_NO_MEMORY. close: gives all memory back, rented or not; not during
     * a call of another thread, but threads that used the pool may live on. */
    enum pal_status (*open)(const struct pal_env *env, struct pal_pool **out, const struct pal_pool_config *config);
    void (*close)(struct pal_pool *pool);
    /* rent: cap >= min_cap (0 gives a buffer too), contents undefined. PAL_TOO_LONG, PAL_NO_MEMORY. */
    enum pal_status (*rent)(struct pal_pool *pool, struct pal_buffer *out, size_t min_cap);
    /* release: takes the rental back, from any thread, and zeroes the handle; `clear` wipes all cap bytes first. {0}
     * counts as nothing. PAL_BAD_ARGUMENT for NULL. PAL_REFUSED, with nothing changed, for a rental that was returned
     * already (also through a stale copy), for a handle whose cap was changed, and for memory that this pool did not
     * lend: foreign, interior, or of another pool. */
    enum pal_status (*release)(struct pal_pool *pool, struct pal_buffer *buffer, bool clear);
    /* trim: frees idle buffers of this thread and of the shared level. */
    void (*trim)(struct pal_pool *pool);
    void (*stats)(struct pal_pool *pool, struct pal_pool_stats *out); /* all counts, as they are now */
};

/* ---- token --------------------------------------------------------------------------------------------------------
 */

/* pal_token: what one TLS call wants to send. Only (payload, len) may reach a transport: bytes past len are somebody
 * else's. In mode PAL_REUSED `rental` holds the memory, in PAL_FRESH it is {0} and payload comes from env->alloc.
 * {0} is an empty token. Released with pal_token_release, which keeps `status` readable. */
struct pal_token {
    uint8_t *payload;
    size_t len;
    size_t cap;
    struct pal_buffer rental;
    enum pal_status status;
};

/* pal_token_ops: a port's own token code. reserve: room for `more` bytes past len; no effect when it is there, else new
 * memory (PAL_REUSED: rented, PAL_FRESH: allocated), the valid prefix copied, the old memory given back once. append:
 * reserves and copies; `bytes` may not point into the token. Both leave the token as it was when they fail:
 * PAL_TOO_LONG, PAL_NO_MEMORY, PAL_UNSUPPORTED (PAL_REUSED without a pool), PAL_BAD_ARGUMENT, PAL_REFUSED (the pool
 * does not know the old rental). release: gives the memory back and zeroes all but status; idempotent; PAL_REFUSED from
 * the pool is returned. */
struct pal_token_ops {
    enum pal_status (*reserve)(const struct pal_env *env, struct pal_token *token, enum pal_mode mode, size_t more);
    enum pal_status (*append)(const struct pal_env *env, struct pal_token *token, enum pal_mode mode,
                              struct pal_view bytes);
    enum pal_status (*release)(const struct pal_env *env, struct pal_token *token);
};

/* ---- tls ----------------------------------------------------------------------------------------------------------
 */

struct pal_tls; /* the port's own */

/* pal_tls_shape: how engine output becomes a token. */
enum pal_tls_shape {
    PAL_TLS_SIZED,    /* overhead known up front, encrypted in place (SChannel) */
    PAL_TLS_DRAIN,    /* written to a memory BIO, read after asking how much (OpenSSL) */
    PAL_TLS_CALLBACK, /* appended by the engine's write callback, taken after success (Secure Transport) */
    PAL_TLS_PENDING,  /* as callback, but taken whatever the status (Conscrypt) */
    PAL_TLS_NUM_SHAPES
};

enum pal_tls_role { PAL_TLS_CLIENT, PAL_TLS_SERVER };

#define PAL_TLS_1_2 0x0303u
#define PAL_TLS_1_3 0x0304u

/* pal_tls_identity: a certificate chain (leaf first, DER, concatenated) and its PKCS#8 key (DER). Empty for none. */
struct pal_tls_identity {
    struct pal_view chain;
    struct pal_view private_key;
};

/* pal_tls_config: one endpoint. Views are copied by open(). */
struct pal_tls_config {
    enum pal_tls_role role;
    enum pal_tls_shape shape;
    enum pal_mode mode;
    uint16_t version_min; /* PAL_TLS_1_2 or PAL_TLS_1_3 */
    uint16_t version_max;
    struct pal_tls_identity identity;
    bool late_identity;          /* answer PAL_NEED_CREDENTIALS first, go on after set_identity */
    struct pal_view trusted;     /* DER certificates, concatenated; empty: the peer is not verified */
    bool require_peer;           /* server: ask for a certificate and insist */
    struct pal_view server_name; /* without a terminating 0 */
    struct pal_view alpn;        /* wire format: length byte and name, repeated (RFC 7301) */
    struct pal_view psk_identity;
    struct pal_view psk_key;
    struct pal_view ticket; /* client: a session that export_ticket gave */
};

/* pal_tls_info: what was agreed. Views live until the next call on the object. */
struct pal_tls_info {
    uint16_t version;
    uint16_t cipher_suite;
    bool resumed;
    struct pal_view alpn;
    struct pal_view peer_certificate; /* DER, leaf */
    uint8_t alert_sent;               /* description of the last fatal alert, 255 for none */
    uint8_t alert_received;
    size_t record_plain_max; /* bytes of plaintext that one record takes */
    size_t record_overhead;  /* bytes that a record adds to them */
};

/* pal_tls_ops: TLS over caller-moved bytes. A fatal status is final: every later call but info, take_pending and close
 * gives it again. When the random source fails (PAL_NO_RANDOM) nothing leaves, alerts included. With late_identity a
 * server waits for set_identity, a client does when the server asks for a certificate. Every token handed in is empty;
 * every token handed out is the caller's to release, also when the status is not PAL_OK, and its bytes (an alert,
 * perhaps) are to be sent first. open, close: make and give back one end. set_identity: what late_identity awaits. */
struct pal_tls_ops {
    enum pal_status (*open)(const struct pal_env *env, struct pal_tls **out, const struct pal_tls_config *config);
    void (*close)(struct pal_tls *tls);
    /* handshake: takes the peer's bytes and makes a flight. *out_consumed <= input.len whatever the status.
     * PAL_OK: done. PAL_NEED_INPUT, PAL_NEED_CREDENTIALS, PAL_PROTOCOL, PAL_NO_MEMORY. */
    enum pal_status (*handshake)(struct pal_tls *tls, struct pal_token *out, size_t *out_consumed,
                                 struct pal_view input);
    enum pal_status (*set_identity)(struct pal_tls *tls, const struct pal_tls_identity *identity);
    /* encrypt: ceil(len / record_plain_max) records; no plaintext, no bytes. */
    enum pal_status (*encrypt)(struct pal_tls *tls, struct pal_token *out, struct pal_view plain);
    /* decrypt: one or more whole or partial records in place: `len` bytes came in, `cap` >= len may be written. On
     * PAL_OK plaintext is at [*out_offset, + *out_count) of `data`, and there may be more: call again with len 0, until
     * PAL_NEED_INPUT (a partial record is kept inside). PAL_NO_SPACE: cap is too small for any of what waits.
     * PAL_RENEGOTIATE, PAL_CLOSED, PAL_PROTOCOL. */
    enum pal_status (*decrypt)(struct pal_tls *tls, size_t *out_offset, size_t *out_count, uint8_t *data, size_t len,
                               size_t cap);
    /* update_keys: TLS 1.3 KeyUpdate. renegotiate: TLS 1.2. PAL_UNSUPPORTED where version or engine has none. */
    enum pal_status (*update_keys)(struct pal_tls *tls, struct pal_token *out, bool request_peer);
    enum pal_status (*renegotiate)(struct pal_tls *tls, struct pal_token *out);
    /* alert: the fatal alert with this description (PAL_UNSUPPORTED when the engine has none such). shutdown:
     * close_notify. take_pending: bytes owed after decrypt (answers to KeyUpdate, alerts). */
    enum pal_status (*alert)(struct pal_tls *tls, struct pal_token *out, uint8_t description);
    enum pal_status (*shutdown)(struct pal_tls *tls, struct pal_token *out);
    enum pal_status (*take_pending)(struct pal_tls *tls, struct pal_token *out);
    enum pal_status (*info)(struct pal_tls *tls, struct pal_tls_info *out); /* what is agreed so far */
    /* export_ticket: the newest session as bytes in a token. PAL_BAD_STATE when there is none yet. */
    enum pal_status (*export_ticket)(struct pal_tls *tls, struct pal_token *out);
};

/* ---- send ---------------------------------------------------------------------------------------------------------
 */

struct pal_send; /* the port's own */

/* pal_send_way: how a list reaches the socket. The bytes that arrive are the same for all. */
enum pal_send_way {
    PAL_SEND_SEQUENTIAL, /* one call per segment */
    PAL_SEND_COPIED,     /* into one rented buffer first */
    PAL_SEND_GATHERED,   /* sendmsg over many */
    PAL_SEND_PACKETS,    /* files by sendfile, runs of byte segments gathered */
    PAL_SEND_AUTO,       /* copied or gathered, by size */
    PAL_SEND_NUM_WAYS
};

/* pal_segment: bytes, or (file >= 0) a region of a file: file_len 0 means to the end. For bytes `file` is -1: {0} is a
 * region of descriptor 0. */
struct pal_segment {
    struct pal_view bytes;
    int file;
    uint64_t file_offset;
    uint64_t file_len;
};

/* pal_send_ops: one list to one stream socket. */
struct pal_send_ops {
    /* begin: copies the list, not the bytes, and sends nothing yet; operations on one socket are served in order of
     * begin, an empty list waits for nobody. A list that cannot be sent whole is refused here, *out_bad_segment set
     * (SIZE_MAX when no segment is to blame): PAL_BAD_ARGUMENT (NULL with a length, bad descriptor, region beyond the
     * file, bytes and a file in one segment, way without files), PAL_TOO_LONG (the sum overflows). PAL_UNSUPPORTED:
     * unknown way. PAL_NO_MEMORY. `deadline_ns` of now_ns holds for the whole operation, its wait
     * behind earlier ones included; UINT64_MAX for none. */
    enum pal_status (*begin)(const struct pal_env *env, struct pal_send **out, size_t *out_bad_segment,
                             enum pal_send_way way, int socket, const struct pal_segment *segments, size_t num_segments,
                             uint64_t deadline_ns);
    /* resume: sends what the socket takes. *out_progress is set whatever the status: bytes taken by this call. Not
     * final, to be resumed at the exact byte: PAL_WOULD_BLOCK (not blocking, or an earlier operation is unfinished) and
     * PAL_NO_MEMORY. Final, repeated with progress 0: PAL_OK (all sent), PAL_TIMED_OUT, PAL_RESET, PAL_BROKEN_PIPE,
     * PAL_TRUNCATED (a file shrank), PAL_CANCELLED, PAL_SYSTEM (also for a transport that claims more than it was
     * given). The kernel gives file sends no flags: a file region on a blocking socket may pass the deadline. */
    enum pal_status (*resume)(struct pal_send *send, uint64_t *out_progress, bool blocking);
    void (*cancel)(struct pal_send *send); /* ends it with PAL_CANCELLED; what was sent stays sent */
    /* end: gives the object back, finished or not. */
    void (*end)(struct pal_send *send);
};

/* ---- hmac ---------------------------------------------------------------------------------------------------------
 */

enum pal_digest { PAL_SHA1, PAL_SHA256, PAL_SHA384, PAL_SHA512, PAL_NUM_DIGESTS };

#define PAL_DIGEST_LEN_MAX 64u

/* pal_slot_stats: what the calling thread's slots of this table did since drop(). A one-shot table counts a set-up for
 * every message. */
struct pal_slot_stats {
    uint64_t messages; /* begun in the engine: authentic or not, finished or abandoned */
    uint64_t setups;   /* key schedules computed */
};

/* pal_hmac_ops: HMAC (RFC 2104, FIPS 198-1) over the calling thread's slot. A thread has one slot and at most one open
 * message per table. Keys of any length, 0 included; they are compared by content, length and digest. The slot owns a
 * copy, wiped when it is replaced, dropped, or its thread ends. A failed call leaves the slot as good as new. In mode
 * PAL_REUSED a message under the slot's key allocates nothing. */
struct pal_hmac_ops {
    /* digest: one message, given in parts. Abandons an open message, even when it is refused itself. *out_len = the
     * digest's length. PAL_UNSUPPORTED (unknown digest), PAL_BAD_ARGUMENT (also for out_len NULL), PAL_NO_SPACE (out
     * may be NULL with out_cap 0), PAL_NO_MEMORY, PAL_ENGINE; in that order. */
    enum pal_status (*digest)(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                              enum pal_digest digest, struct pal_view key, const struct pal_view *parts,
                              size_t num_parts);
    /* start: opens a message, abandoning an open one, even when it fails. update: adds a part. finish: as digest, and
     * closes the message. update and finish without an open message: PAL_BAD_STATE, before anything else.
     * PAL_BAD_ARGUMENT and PAL_NO_SPACE leave the message open, PAL_NO_MEMORY and PAL_ENGINE close it. */
    enum pal_status (*start)(const struct pal_env *env, enum pal_digest digest, struct pal_view key);
    enum pal_status (*update)(const struct pal_env *env, struct pal_view part);
    enum pal_status (*finish)(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len);
    /* drop: wipes and gives back the calling thread's slot, with any open message; resets its stats. A slot belongs to
     * the environment that it was made under: a call under another one replaces it. */
    void (*drop)(const struct pal_env *env);
    void (*stats)(const struct pal_env *env, struct pal_slot_stats *out); /* what the slots did since drop */
};

/* ---- aead ---------------------------------------------------------------------------------------------------------
 */

enum pal_aead { PAL_AES_128_GCM, PAL_AES_192_GCM, PAL_AES_256_GCM, PAL_NUM_AEADS };

#define PAL_TAG_LEN_MIN 12u
#define PAL_TAG_LEN_MAX 16u
#define PAL_NONCE_LEN 12u            /* what seal_fresh draws */
#define PAL_NONCE_LEN_MAX 128u       /* OpenSSL's GCM_IV_MAX_SIZE */
#define PAL_TEXT_LEN_MAX 0x7ffffff0u /* plaintext or one AAD part: engines count in int */

/* pal_aead_job: everything but the text. Nonces of 1 to PAL_NONCE_LEN_MAX bytes, tags of 12 to 16 bytes (SP
 * 800-38D 5.2.1.2 has shorter ones for special uses; they are refused here). AAD in parts counts as their
 * concatenation. */
struct pal_aead_job {
    enum pal_aead cipher;
    struct pal_view key; /* 16, 24 or 32 bytes, by cipher */
    struct pal_view nonce;
    const struct pal_view *aad;
    size_t num_aad;
    size_t tag_len;
};

/* pal_aead_ops: AES-GCM (SP 800-38D) over the calling thread's slots: one for sealing, one for opening. Slots as in
 * pal_hmac_ops. Output and text are the same memory from the same start (in place), or do not overlap
 * (PAL_BAD_ARGUMENT). Order of refusals: PAL_UNSUPPORTED (unknown cipher), PAL_BAD_ARGUMENT but for an overlap,
 * PAL_TOO_LONG, an overlap with the bytes that would be written, PAL_NO_SPACE. PAL_ENGINE wipes the output. */
struct pal_aead_ops {
    /* seal: writes ciphertext and tag; *out_len = plain.len + tag_len. */
    enum pal_status (*seal)(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                            const struct pal_aead_job *job, struct pal_view plain);
    /* open: takes ciphertext and tag; *out_len = sealed.len - tag_len. PAL_BAD_TAG, also for a text shorter than a tag,
     * with the sealed.len - tag_len bytes of `out` that the plaintext would have taken set to 0. */
    enum pal_status (*open)(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                            const struct pal_aead_job *job, struct pal_view sealed);
    /* seal_fresh: draws a nonce of PAL_NONCE_LEN from env->random, job->nonce is not read; writes nonce, ciphertext,
     * tag. PAL_NO_RANDOM: nothing was sealed. Never in place. */
    enum pal_status (*seal_fresh)(const struct pal_env *env, uint8_t *out, size_t out_cap, size_t *out_len,
                                  const struct pal_aead_job *job, struct pal_view plain);
    void (*drop)(const struct pal_env *env);                              /* as of pal_hmac_ops, both slots */
    void (*stats)(const struct pal_env *env, struct pal_slot_stats *out); /* as of pal_hmac_ops */
};

/* ---- port ---------------------------------------------------------------------------------------------------------
 */

/* pal_port: one implementation. A table that is NULL is an area (or a mode of it) that the port does not have. Static
 * storage, never changed after it was handed out. */
struct pal_port {
    uint32_t abi; /* PAL_ABI_VERSION that it was built for */
    const char *name;
    const char *version; /* of the engine, as that says it at run time */
    bool env_random;     /* all randomness comes from env->random, so that wire bytes can be compared */
    bool env_clock;
    const struct pal_pool_ops *pool;
    const struct pal_tls_ops *tls;
    const struct pal_send_ops *send;
    const struct pal_hmac_ops *hmac[PAL_NUM_MODES];
    const struct pal_aead_ops *aead[PAL_NUM_MODES];
    const struct pal_token_ops *token; /* NULL: tokens are released by the caller's own code */
};

/* pal_port_get: the one symbol that a port exports. NULL when its engine cannot be started. Safe to call again, and
 * from several threads. */
typedef const struct pal_port *pal_port_get_fn(void);

#ifdef __cplusplus
}
#endif
#endif
