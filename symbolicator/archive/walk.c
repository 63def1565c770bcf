/*
 * One pass over an archive: names are labels, and the bytes of each wanted member go to the sink.
 *
 * Every byte that libarchive unpacks counts against the limits, also those of unwanted
 * members: in a compressed tar they are unpacked too.
 */
#include "symbolicator/symbolicator.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "base/text.h"

enum { RATIO_FREE_BYTES = 1024 * 1024, SHOWN_NAME = 96, NAME_BYTES = 1024 };

struct walk {
    struct archive *archive;
    uint64_t packed; /* size of the archive */
    const struct sym_archive_limits *limits;
    const struct sym_archive_sink *sink;
    struct sym_archive_summary *summary;
    struct sym_problems *problems;
    bool is_raw;                   /* one compressed file, which has no name */
    bool is_contradicted;          /* the member: a zip's directory says something else of it */
    char name[6 * NAME_BYTES + 1]; /* of the member, visible */
};

/* libarchive's message; it may quote the input. */
static const char *
reason(struct archive *archive)
{
    const char *text = archive_error_string(archive);
    return text ? text : "no reason is known";
}

static enum fz_code
count_bytes(struct walk *w, uint64_t len, struct fz_error *err)
{
    struct sym_archive_summary *s = w->summary;
    if (__builtin_add_overflow(s->n_bytes, len, &s->n_bytes) || s->n_bytes > w->limits->bytes)
        return fz_fail(err, FZ_E_LIMIT, "the archive unpacks to more than %llu bytes",
                       (unsigned long long)w->limits->bytes);
    unsigned ratio = w->limits->ratio;
    /* Small archives of mostly zeros have high ratios and do no harm. */
    if (ratio && s->n_bytes > RATIO_FREE_BYTES && s->n_bytes / ratio > w->packed)
        return fz_fail(err, FZ_E_LIMIT,
                       "the archive unpacks to more than %u times its size of %llu bytes", ratio,
                       (unsigned long long)w->packed);
    return FZ_OK;
}

static bool
is_skipped_name(const char *name)
{
    return fz_text_has_prefix(fz_text_base_name(name), "._") ||
           fz_text_has_prefix(name, "__MACOSX/") || strstr(name, "/__MACOSX/");
}

/* How problems name a member; a file that is only compressed has no name. */
static const char *
shown_name(const char *name)
{
    return *name ? name : "the file";
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
    /* The caller decides what the end or a fault means. */
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return FZ_OK;
    /* A gap is that of a sparse member; an offset that goes back would count bytes twice. */
    if (offset < 0 || (uint64_t)offset < *at || (uint64_t)offset > w->limits->member_bytes ||
        len > w->limits->member_bytes - (uint64_t)offset)
        return fz_fail(err, FZ_E_LIMIT, "a member of the archive is larger than %llu bytes",
                       (unsigned long long)w->limits->member_bytes);
    *ret_offset = (uint64_t)offset;
    *ret = fz_span_make(len ? data : NULL, len);
    uint64_t grown = (uint64_t)offset + len - *at; /* a gap in a sparse file counts too */
    *at = (uint64_t)offset + len;
    return count_bytes(w, grown, err);
}

/* libarchive warns with the last piece of a member whose checksum or length is not what the archive says. */
static enum sym_member_state
judge_member(struct walk *w, const char *name, bool is_whole, bool is_damaged)
{
    if (is_whole && !is_damaged)
        return SYM_MEMBER_WHOLE;
    sym_problem_add(w->problems, SYM_PROBLEM_BAD_MEMBER, "%.*s: %s: %s", SHOWN_NAME,
                    shown_name(name), is_whole ? "damaged" : "broken off", reason(w->archive));
    return is_whole ? SYM_MEMBER_DAMAGED : SYM_MEMBER_CUT;
}

/* Show the first bytes to the sink, which decides whether it wants the member. */
static enum fz_code
read_member(struct walk *w, const char *name, struct fz_error *err)
{
    uint64_t at = 0, offset = 0;
    struct fz_span piece = {NULL, 0}; /* remains so for an empty member */
    int status = ARCHIVE_EOF;
    enum fz_code code;
    do
        code = next_piece(w, &at, &piece, &offset, &status, err);
    while (code == FZ_OK && status == ARCHIVE_OK && piece.len == 0);
    if (code != FZ_OK)
        return code;
    if (status == ARCHIVE_FAILED || status == ARCHIVE_FATAL) {
        sym_problem_add(w->problems, SYM_PROBLEM_BAD_MEMBER, "%.*s: %s", SHOWN_NAME,
                        shown_name(name), reason(w->archive));
        return FZ_OK;
    }
    bool is_damaged = status == ARCHIVE_WARN || w->is_contradicted;
    bool is_wanted = !w->sink->wants || w->sink->wants(name, piece);
    /* A member that begins with a hole has no magic that could be looked at. */
    if (status == ARCHIVE_EOF || offset != 0 || !is_wanted)
        return FZ_OK;
    code = w->sink->begin(w->sink->user, name, err);
    while (code == FZ_OK && (status == ARCHIVE_OK || status == ARCHIVE_WARN)) {
        code = w->sink->write(w->sink->user, offset, piece, err);
        if (code == FZ_OK)
            code = next_piece(w, &at, &piece, &offset, &status, err);
        is_damaged = is_damaged || status == ARCHIVE_WARN;
    }
    if (code != FZ_OK)
        return code;
    return w->sink->end(w->sink->user, judge_member(w, name, status == ARCHIVE_EOF, is_damaged),
                        err);
}

static const char *
member_name(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);
    /* The UTF-8 form is missing where a name is not valid in its character set. */
    if (!name)
        name = archive_entry_pathname(entry);
    return name ? name : "";
}

static enum fz_code
read_entry(struct walk *w, struct archive_entry *entry, struct fz_error *err)
{
    struct sym_archive_summary *s = w->summary;
    const char *raw_name = w->is_raw ? "" : member_name(entry);
    size_t len = strlen(raw_name), cut = len > NAME_BYTES ? len - NAME_BYTES : 0;
    const char *name = w->name;
    fz_text_visible(fz_span_make(raw_name + cut, len - cut), w->name, sizeof(w->name));
    /* The bytes of a hard link come with the entry that it names. */
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return FZ_OK;
    /* Checked before reading, so that the problem says why nothing of it is there. */
    if (archive_entry_is_encrypted(entry)) {
        s->n_encrypted++;
        sym_problem_add(w->problems, SYM_PROBLEM_ENCRYPTED, "%.*s: encrypted with a password",
                        SHOWN_NAME, name);
        return FZ_OK;
    }
    if (is_skipped_name(raw_name)) {
        /* Counted, because skipping it in a compressed stream unpacks it. */
        la_int64_t size = archive_entry_size(entry);
        return count_bytes(w, size > 0 ? (uint64_t)size : 0, err);
    }
    return read_member(w, name, err);
}

/* How much came out of the compression around a tar, members that were skipped included. */
static enum fz_code
check_stream(struct walk *w, struct fz_error *err)
{
    /* libarchive unpacks what it skips, which no callback sees. */
    la_int64_t unpacked = archive_filter_bytes(w->archive, 0);
    uint64_t before = w->summary->n_bytes;
    if (unpacked <= 0 || (uint64_t)unpacked <= before || archive_filter_count(w->archive) < 2)
        return FZ_OK;
    return count_bytes(w, (uint64_t)unpacked - before, err);
}

/* libarchive believes the header before a zip's member, and only warns if the directory at the end has another checksum or size
 * of it. Its other warnings about headers are of names, which do no harm; only the text distinguishes them. */
static bool
is_contradicted(struct archive *archive, int status)
{
    return status == ARCHIVE_WARN && fz_text_has_prefix(reason(archive), "Inconsistent");
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
            status = ARCHIVE_FATAL; /* no format gives it; an endless loop otherwise */
        if (status == ARCHIVE_FATAL && w->summary->n_entries == 0)
            return fz_fail(err, FZ_E_MALFORMED, "the archive cannot be read: %s",
                           reason(w->archive));
        if (status == ARCHIVE_FATAL) {
            sym_problem_add(w->problems, SYM_PROBLEM_TRUNCATED,
                            "the archive ends early, after entry %llu (%s); was it sent whole?",
                            (unsigned long long)w->summary->n_entries, reason(w->archive));
            return FZ_OK;
        }
        /* Known only once the first header has been read. */
        w->is_raw = archive_format(w->archive) == ARCHIVE_FORMAT_RAW;
        w->is_contradicted = is_contradicted(w->archive, status);
        if (w->is_raw)
            w->summary->format = "compressed";
        if (++w->summary->n_entries > w->limits->entries)
            return fz_fail(err, FZ_E_LIMIT, "the archive has more than %zu entries",
                           w->limits->entries);
        /* Before the entry: the bytes that were skipped to reach it count first. */
        enum fz_code code = check_stream(w, err);
        if (code == FZ_OK && status == ARCHIVE_FAILED)
            sym_problem_add(w->problems, SYM_PROBLEM_BAD_MEMBER, "entry %llu: %s",
                            (unsigned long long)w->summary->n_entries, reason(w->archive));
        else if (code == FZ_OK)
            code = read_entry(w, entry, err);
        if (code != FZ_OK)
            return code;
    }
}

static enum fz_code
lacks_format(struct archive *archive, struct fz_error *err)
{
    return fz_fail(err, FZ_E_INTERNAL, "libarchive lacks a format: %s", reason(archive));
}

/* Formats are named one by one: libarchive also reads ones that run other programs. */
static enum fz_code
add_formats(struct archive *archive, enum sym_archive_kind kind, struct fz_error *err)
{
    if (archive_read_support_format_zip(archive) != ARCHIVE_OK ||
        archive_read_support_format_tar(archive) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(archive) != ARCHIVE_OK ||
        archive_read_support_filter_xz(archive) != ARCHIVE_OK)
        return lacks_format(archive, err);
    if (kind == SYM_ARCHIVE_BZIP2 && archive_read_support_filter_bzip2(archive) != ARCHIVE_OK)
        return lacks_format(archive, err);
    /* A file that is only compressed. The raw format accepts any bytes at all, so it is not offered
     * for what is not compressed. */
    bool is_compressed = kind == SYM_ARCHIVE_GZIP || kind == SYM_ARCHIVE_BZIP2 ||
                         kind == SYM_ARCHIVE_XZ || kind == SYM_ARCHIVE_ZSTD;
    if (is_compressed && archive_read_support_format_raw(archive) != ARCHIVE_OK)
        return lacks_format(archive, err);
    return FZ_OK;
}

static void
free_archivep(struct archive **archive)
{
    if (*archive)
        archive_read_free(*archive);
}

enum fz_code
sym_archive_walk(struct fz_span file, const struct sym_archive_limits *limits,
                 const struct sym_archive_sink *sink, struct sym_archive_summary *ret,
                 struct sym_problems *problems, struct fz_error *err)
{
    *ret = (struct sym_archive_summary){.format = NULL};
    if (file.len == 0) /* libarchive reports NULL as a caller's error */
        return fz_fail(err, FZ_E_UNSUPPORTED, "not a zip or tar archive");
    FZ_CLEANUP(free_archivep) struct archive *archive = archive_read_new();
    if (!archive)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = add_formats(archive, sym_archive_kind(file), err);
    if (code != FZ_OK)
        return code;
    if (archive_read_open_memory(archive, file.data, file.len) != ARCHIVE_OK) {
        /* EILSEQ is "unrecognized format", as opposed to a broken archive. */
        if (archive_errno(archive) == EILSEQ)
            return fz_fail(err, FZ_E_UNSUPPORTED, "not a zip or tar archive");
        return fz_fail(err, FZ_E_MALFORMED, "the archive cannot be read: %s", reason(archive));
    }
    /* Until an entry says that it is only compressed. */
    ret->format = file.data[0] == 'P' ? "zip" : "tar";
    struct walk walk = {.archive = archive,
                        .packed = file.len,
                        .limits = limits,
                        .sink = sink,
                        .summary = ret,
                        .problems = problems};
    return walk_entries(&walk, err);
}

bool
sym_archive_wants_symbols(const char *name, struct fz_span head)
{
    return sym_macho_has_magic(head) || sym_maps_wants(name, head);
}
