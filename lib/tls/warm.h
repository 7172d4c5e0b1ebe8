/* SPDX-License-Identifier: Apache-2.0
 * warm.h: handshakes of an engine with itself while it starts, so that what it makes once per process is made before
 * any environment is entered, but for the real one, whose memory is for ever. It breaks when a version, key type or
 * feature is offered later that was not played here.
 */
#ifndef PAL_TLS_WARM_H
#define PAL_TLS_WARM_H

#include "credentials.h"

/* tls_warm: false when a handshake that should succeed does not. Needs the SSL_CTX of tls_setup_context. */
bool tls_warm(void);

/* tls_credentials_make: pal_tls_make_identity for an engine that is only starting; `spec` is not checked. */
enum pal_status tls_credentials_make(const struct pal_env *env, struct pal_tls_credentials *out,
                                     const struct pal_tls_identity_spec *spec);

#endif
