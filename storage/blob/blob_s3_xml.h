/*
 * The few elements that are needed of what an object store answers, found in its XML.
 *
 * Not a parser of XML: it finds elements by their names without prefixes, does not look into
 * comments, and knows no DTD, no entities but the five and numbers, and no encoding but UTF-8. So
 * there is nothing in it that grows: one pass over the text, no recursion, no memory of its own.
 * The text may be anything.
 */
#ifndef STORAGE_BLOB_S3_XML_H
#define STORAGE_BLOB_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

/* What is between <name …> and the </name> that belongs to it, at or after *pos; *pos is then after
 * it. False: there is none, or the text ends first. <name/> is found, and empty. */
bool blob_s3_xml_next(struct fz_span xml, const char *name, size_t *pos, struct fz_span *ret);

/* The characters of the first such element in `xml`, entities replaced; "" and false if it is not
 * there, contains elements, or does not fit. */
bool blob_s3_xml_text(struct fz_span xml, const char *name, char *ret, size_t room);

#endif
