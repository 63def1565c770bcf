/*
 * What only the rows of reports say, as columns of sealed days: the numbers of their texts (store_terms.h), and a few numbers as
 * they are.
 *
 * Rows of facts have no such columns, so nothing of this is stored when a report is done. Sealing a day reads the texts of its
 * reports once, numbers them and stores them as blocks. A condition about one of these fields looks at the numbers in sealed
 * days, and at the reports' own rows elsewhere. Private to storage.
 */
#ifndef STORE_FACT_TEXTS_H
#define STORE_FACT_TEXTS_H

#include "storage/store_fact_days.h"
#include "storage/store_query.h"
#include "storage/store_terms.h"

enum {
    STORE_FACT_TEXTS = 5,
    STORE_FACT_TEXT_FIRST = STORE_FACT_RELEASE,
    STORE_FACT_OF_ROW = STORE_FACT_COLUMNS - STORE_FACT_TEXT_FIRST /* the texts, then numbers */
};

struct store_fact_text {
    enum store_field field;
    enum store_term term;
    const char *name; /* of the column of reports, and in store_fact_column_names */
};
/* In the order of enum store_fact_column, from STORE_FACT_TEXT_FIRST on. */
extern const struct store_fact_text store_fact_texts[STORE_FACT_TEXTS];

/* NULL: it is not one of these. */
const struct store_fact_text *store_fact_text_of(enum store_field field);
/*
 * May numbers be compared instead of texts? Not if the project has more texts than its dictionary takes: some of them count as
 * "(other)" then.
 */
FZ_MUST_CHECK enum fz_code store_fact_text_can(struct store *store, int64_t project_id,
                                               const struct store_fact_text *text, bool *ret,
                                               struct fz_error *err);

/* Facts of a day in their order. */
struct store_fact_places {
    int64_t project_id, day;
    const int64_t *received_ms, *report_keys;
    size_t n;
};
/*
 * Fill in the numbers of the texts that each fact's report has, and its numbers: 0 for none, and for a report that was deleted.
 * Texts that are new are added to the dictionary, so this is called outside of transactions.
 */
FZ_MUST_CHECK enum fz_code store_fact_texts_read(struct store *store,
                                                 const struct store_fact_places *places,
                                                 int64_t *ret[STORE_FACT_OF_ROW],
                                                 struct fz_error *err);

#endif
