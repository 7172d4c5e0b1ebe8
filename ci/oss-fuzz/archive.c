/* SPDX-License-Identifier: Apache-2.0
 * archive.c: the shape of a fuzz engine that comes as an archive: main() is in it, the target is called from it, and
 * instrumentation reports to it. It plays the files it is given and counts what was reported. It mutates nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

static uint32_t num_guards;
static uint32_t num_reached;

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    for (uint32_t *guard = start; guard < stop && *guard == 0; guard++) {
        *guard = ++num_guards;
    }
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    if (*guard != 0) {
        num_reached++;
        *guard = 0;
    }
}

static int play(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(2u << 20);
    int good = file != NULL && data != NULL;
    if (good) {
        size_t len = fread(data, 1, 2u << 20, file);
        uint8_t *exact = malloc(len > 0 ? len : 1);
        good = exact != NULL;
        for (size_t i = 0; good && i < len; i++) {
            exact[i] = data[i];
        }
        if (good) {
            (void)LLVMFuzzerTestOneInput(exact, len);
        }
        free(exact);
    }
    free(data);
    if (file != NULL) {
        (void)fclose(file);
    }
    return good;
}

int main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize != NULL) {
        (void)LLVMFuzzerInitialize(&argc, &argv);
    }
    for (int i = 1; i < argc; i++) {
        if (!play(argv[i])) {
            (void)fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 2;
        }
    }
    (void)fprintf(stderr, "archive: %d files, %u of %u edges\n", argc - 1, num_reached, num_guards);
    return 0;
}
