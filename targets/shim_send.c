/* SPDX-License-Identifier: Apache-2.0
 * shim_send.c: stub.
 */
#include "shim.h"
const struct pal_send_ops shim_send;
void shim_send_reset(void)
{
}
