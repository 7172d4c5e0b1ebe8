/* SPDX-License-Identifier: Apache-2.0
 * report_html.c: the page's frame and its only way to write text that came from outside.
 * It breaks nothing when a text is no UTF-8: a browser would guess, we replace.
 */
#include "report.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

static const char style[] =
    ":root{--ground:#fff;--ink:#1b1f24;--quiet:#57606a;--line:#d0d7de;--box:#f6f8fa;--good:#116329;--bad:#b3261e;"
    "--some:#7d4e00;--heat:9,105,218}"
    "@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--quiet:#9198a1;--line:#30363d;"
    "--box:#161b22;--good:#56d364;--bad:#ff7b72;--some:#e3b341;--heat:88,166,255}}"
    "*{box-sizing:border-box}"
    "html{color-scheme:light dark;-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--ground);color:var(--ink);"
    "font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}"
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}p{margin:.4rem 0}"
    "a{color:rgb(var(--heat))}code,pre{font:13px/1.45 ui-monospace,monospace}"
    "pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem;overflow-x:auto;"
    "overflow-wrap:normal;margin:.4rem 0}"
    ".wide{overflow-x:auto;max-width:100%;border:1px solid var(--line);border-radius:6px;margin:.5rem 0}"
    ".wide img{display:block;min-width:640px;width:100%;background:#fff}"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap;"
    "vertical-align:top}"
    "th{background:var(--box);font-weight:600}tr:last-child td{border-bottom:0}"
    "td.number{text-align:right;font-variant-numeric:tabular-nums}"
    "td.text{white-space:normal;min-width:14rem}"
    ".good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}"
    ".some{color:var(--some);font-weight:600}.quiet{color:var(--quiet)}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.6rem;margin:1rem 0}"
    ".card{border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;background:var(--box)}"
    ".card a{color:inherit;text-decoration:none;font-weight:600}"
    "meter{width:7rem;height:.8rem}"
    "@media(max-width:40rem){body{padding:.7rem}meter{display:none}th,td{padding:.25rem .35rem}table{font-size:13px}}"
    "summary{cursor:pointer;padding:.3rem 0}"
    ".matrix svg{display:block}.matrix text{font:11px ui-monospace,monospace;fill:var(--ink)}"
    ".matrix .mark{fill:none;stroke:var(--ink);stroke-width:1.5}.matrix .line{stroke:var(--line)}"
    ".matrix .hit{fill:rgb(var(--heat))}.matrix .lost{fill:var(--bad);font-weight:700}";

/* sequence_len: of the UTF-8 sequence at `at`; 0 when it is none. */
static size_t sequence_len(const unsigned char *at)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

void html_text(FILE *page, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t len = sequence_len(at);
        bool control = len == 1 && *at < 0x20 && *at != '\n' && *at != '\t';
        if (*at == '&') {
            (void)fputs("&amp;", page);
        } else if (*at == '<') {
            (void)fputs("&lt;", page);
        } else if (*at == '>') {
            (void)fputs("&gt;", page);
        } else if (*at == '"') {
            (void)fputs("&quot;", page);
        } else if (*at == '\'') {
            (void)fputs("&#39;", page);
        } else if (len == 0 || control) {
            (void)fputs("&#xfffd;", page);
        } else {
            (void)fwrite(at, 1, len, page);
        }
        at += len > 0 ? len : 1;
    }
}

static void html_values(FILE *page, const char *format, va_list values)
{
    char text[4096];
    (void)vsnprintf(text, sizeof(text), format, values);
    html_text(page, text);
}

void html_format(FILE *page, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    html_values(page, format, values);
    va_end(values);
}

void html_cell(FILE *page, const char *kind, const char *format, ...)
{
    va_list values;
    (void)fprintf(page, "<td class=\"%s\">", kind);
    va_start(values, format);
    html_values(page, format, values);
    va_end(values);
    (void)fputs("</td>", page);
}

void html_table(FILE *page, const char *const columns[])
{
    (void)fputs("<div class=\"wide\"><table><tr>", page);
    for (size_t i = 0; columns[i] != NULL; i++) {
        (void)fputs("<th>", page);
        html_text(page, columns[i]);
        (void)fputs("</th>", page);
    }
    (void)fputs("</tr>\n", page);
}

void html_table_end(FILE *page)
{
    (void)fputs("</table></div>\n", page);
}

void html_head(FILE *page, const char *title)
{
    (void)fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
                "img-src data:\">\n<title>",
                page);
    html_text(page, title);
    (void)fprintf(page, "</title>\n<style>%s</style></head>\n<body>\n", style);
}

void html_foot(FILE *page)
{
    (void)fputs("</body></html>\n", page);
}
