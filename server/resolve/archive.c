#include "server/resolve/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

#include "base/attr.h"
#include "base/reader.h"
#include "base/text.h"
#include "server/resolve/symbol_names.h"

enum { RATIO_FREE_BYTES = 1024 * 1024, SHOWN_NAME = 96 };

struct walk {
    struct archive *archive;
    uint64_t packed; /* size of the upload */
    const struct limits *limits;
    const struct archive_sink *sink;
    struct archive_summary *summary;
    struct sym_problems *problems;
    bool is_raw; /* one compressed file, which has no name */
};

bool
archive_is_macho(struct fz_span bytes)
{
    struct fz_reader r = fz_reader_make(bytes, "file");
    switch (fz_read_u32(&r)) {
    case 0xfeedface: /* 32 and 64 bit, either byte order */
    case 0xcefaedfe:
    case 0xfeedfacf:
    case 0xcffaedfe:
    case 0xbebafeca: /* fat with 32- and 64-bit offsets, either byte order */
    case 0xbfbafeca:
    case 0xcafebabe:
    case 0xcafebabf:
        return !r.failed;
    default:
        return false;
    }
}

/* libarchive's words, or ours when it has none. Foreign text may be in them; it is shown as JSON
 * text only. */
static const char *
reason(struct archive *archive)
{
    const char *text = archive_error_string(archive);
    return text ? text : "no reason is known";
}

static enum fz_code
count_bytes(struct walk *w, uint64_t len, struct fz_error *err)
{
    struct archive_summary *s = w->summary;
    if (__builtin_add_overflow(s->n_bytes, len, &s->n_bytes) ||
        s->n_bytes > w->limits->archive_bytes)
        return fz_fail(err, FZ_E_LIMIT, "the archive unpacks to more than %llu bytes",
                       (unsigned long long)w->limits->archive_bytes);
    if (s->n_bytes > RATIO_FREE_BYTES && s->n_bytes / w->limits->archive_ratio > w->packed)
        return fz_fail(err, FZ_E_LIMIT,
                       "the archive unpacks to more than %u times its size of %llu bytes",
                       w->limits->archive_ratio, (unsigned long long)w->packed);
    return FZ_OK;
}

static bool
is_skipped_name(const char *name)
{
    return fz_text_has_prefix(fz_text_base_name(name), "._") ||
           fz_text_has_prefix(name, "__MACOSX/") || strstr(name, "/__MACOSX/");
}

/* One piece of the member; *ret_status is libarchive's. */
static enum fz_code
next_piece(struct walk *w, uint64_t *at, struct fz_span *ret, uint64_t *ret_offset, int *ret_status,
           struct fz_error *err)
{
    const void *data = NULL;
    size_t len = 0;
    la_int64_t offset = 0;
    int status = archive_read_data_block(w->archive, &data, &len, &offset);
    *ret_status = status;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return FZ_OK;
    if (offset < 0 || (uint64_t)offset < *at || (uint64_t)offset > w->limits->symbol_bytes ||
        len > w->limits->symbol_bytes - (uint64_t)offset)
        return fz_fail(err, FZ_E_LIMIT, "a member of the archive is larger than %llu bytes",
                       (unsigned long long)w->limits->symbol_bytes);
    *ret_offset = (uint64_t)offset;
    *ret = fz_span_make(len ? data : NULL, len);
    uint64_t grown = (uint64_t)offset + len - *at; /* a gap of a sparse file counts too */
    *at = (uint64_t)offset + len;
    return count_bytes(w, grown, err);
}

/* Look at the first bytes; give what is of use to the sink. */
static enum fz_code
read_member(struct walk *w, const char *name, struct fz_error *err)
{
    uint64_t at = 0, offset = 0;
    struct fz_span piece = {NULL, 0}; /* stays so if the first thing is the end */
    int status = ARCHIVE_EOF;
    enum fz_code code;
    do
        code = next_piece(w, &at, &piece, &offset, &status, err);
    while (code == FZ_OK && status == ARCHIVE_OK && piece.len == 0);
    if (code != FZ_OK)
        return code;
    if (status == ARCHIVE_FAILED || status == ARCHIVE_FATAL) {
        sym_problem_add(w->problems, "bad_member", "%.*s: %s", SHOWN_NAME, name,
                        reason(w->archive));
        return FZ_OK;
    }
    bool is_macho = archive_is_macho(piece);
    bool is_wanted = w->sink->wants_all || is_macho || symbol_names_wants(name, piece);
    if (status == ARCHIVE_EOF || offset != 0 || !is_wanted)
        return FZ_OK;
    code = w->sink->begin(w->sink->user, name, err);
    while (code == FZ_OK && (status == ARCHIVE_OK || status == ARCHIVE_WARN)) {
        code = w->sink->write(w->sink->user, offset, piece, err);
        if (code == FZ_OK)
            code = next_piece(w, &at, &piece, &offset, &status, err);
    }
    if (code != FZ_OK)
        return code;
    bool is_whole = status == ARCHIVE_EOF;
    if (is_whole)
        w->summary->n_machos += is_macho;
    else
        sym_problem_add(w->problems, "bad_member", "%.*s: broken off: %s", SHOWN_NAME, name,
                        reason(w->archive));
    return w->sink->end(w->sink->user, is_whole, err);
}

static const char *
member_name(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);
    if (!name)
        name = archive_entry_pathname(entry);
    return name ? name : "";
}

static enum fz_code
read_entry(struct walk *w, struct archive_entry *entry, struct fz_error *err)
{
    struct archive_summary *s = w->summary;
    const char *name = w->is_raw ? "" : member_name(entry);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return FZ_OK;
    if (archive_entry_is_encrypted(entry)) {
        s->n_encrypted++;
        sym_problem_add(w->problems, "encrypted", "%.*s: encrypted with a password", SHOWN_NAME,
                        name);
        return FZ_OK;
    }
    if (is_skipped_name(name)) {
        /* Its bytes are unpacked all the same when the archive is one compressed stream. */
        la_int64_t size = archive_entry_size(entry);
        return count_bytes(w, size > 0 ? (uint64_t)size : 0, err);
    }
    return read_member(w, name, err);
}

/* How much came out of the compression around a tar, members that were skipped included. */
static enum fz_code
check_stream(struct walk *w, struct fz_error *err)
{
    la_int64_t unpacked = archive_filter_bytes(w->archive, 0);
    uint64_t before = w->summary->n_bytes;
    if (unpacked <= 0 || (uint64_t)unpacked <= before || archive_filter_count(w->archive) < 2)
        return FZ_OK;
    return count_bytes(w, (uint64_t)unpacked - before, err);
}

static enum fz_code
walk_entries(struct walk *w, struct fz_error *err)
{
    for (;;) {
        struct archive_entry *entry;
        int status = archive_read_next_header(w->archive, &entry);
        if (status == ARCHIVE_EOF)
            return FZ_OK;
        if (status == ARCHIVE_RETRY)
            status = ARCHIVE_FATAL; /* no format we read gives it; never loop on it */
        if (status == ARCHIVE_FATAL && w->summary->n_entries == 0)
            return fz_fail(err, FZ_E_MALFORMED, "the archive cannot be read: %s",
                           reason(w->archive));
        if (status == ARCHIVE_FATAL) {
            sym_problem_add(w->problems, "truncated",
                            "the archive breaks off after entry %llu (%s); was it sent whole?",
                            (unsigned long long)w->summary->n_entries, reason(w->archive));
            return FZ_OK;
        }
        w->is_raw = archive_format(w->archive) == ARCHIVE_FORMAT_RAW;
        if (w->is_raw)
            w->summary->format = "compressed";
        if (++w->summary->n_entries > w->limits->archive_entries)
            return fz_fail(err, FZ_E_LIMIT, "the archive has more than %zu entries",
                           w->limits->archive_entries);
        enum fz_code code = check_stream(w, err);
        if (code == FZ_OK && status == ARCHIVE_FAILED)
            sym_problem_add(w->problems, "bad_member", "entry %llu: %s",
                            (unsigned long long)w->summary->n_entries, reason(w->archive));
        else if (code == FZ_OK)
            code = read_entry(w, entry, err);
        if (code != FZ_OK)
            return code;
    }
}

/* The first bytes of gzip, xz and zstd. */
static bool
is_compressed(struct fz_span bytes)
{
    static const struct {
        const char *magic;
        size_t len;
    } kinds[] = {{"\x1f\x8b", 2},
                 {"\xfd"
                  "7zXZ",
                  5},
                 {"\x28\xb5\x2f\xfd", 4}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++)
        if (bytes.len > kinds[i].len && memcmp(bytes.data, kinds[i].magic, kinds[i].len) == 0)
            return true;
    return false;
}

static void
free_archivep(struct archive **archive)
{
    if (*archive)
        archive_read_free(*archive);
}

enum fz_code
archive_walk(struct fz_span upload, const struct limits *limits, const struct archive_sink *sink,
             struct archive_summary *ret, struct sym_problems *problems, struct fz_error *err)
{
    *ret = (struct archive_summary){.format = NULL};
    FZ_CLEANUP(free_archivep) struct archive *archive = archive_read_new();
    if (!archive)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (archive_read_support_format_zip(archive) != ARCHIVE_OK ||
        archive_read_support_format_tar(archive) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(archive) != ARCHIVE_OK ||
        archive_read_support_filter_xz(archive) != ARCHIVE_OK)
        return fz_fail(err, FZ_E_INTERNAL, "libarchive lacks a format: %s", reason(archive));
    /* A file that is only compressed; anything at all would be taken for one that is not. */
    if (is_compressed(upload) && archive_read_support_format_raw(archive) != ARCHIVE_OK)
        return fz_fail(err, FZ_E_INTERNAL, "libarchive lacks a format: %s", reason(archive));
    if (upload.len == 0) /* libarchive would take NULL for an error of the caller */
        return fz_fail(err, FZ_E_UNSUPPORTED, "no zip or tar archive");
    if (archive_read_open_memory(archive, upload.data, upload.len) != ARCHIVE_OK) {
        if (archive_errno(archive) ==
            EILSEQ) /* "unrecognized format", as opposed to a broken one */
            return fz_fail(err, FZ_E_UNSUPPORTED, "no zip or tar archive");
        return fz_fail(err, FZ_E_MALFORMED, "the archive cannot be read: %s", reason(archive));
    }
    ret->format = upload.data[0] == 'P' ? "zip" : "tar";
    struct walk walk = {.archive = archive,
                        .packed = upload.len,
                        .limits = limits,
                        .sink = sink,
                        .summary = ret,
                        .problems = problems};
    return walk_entries(&walk, err);
}
