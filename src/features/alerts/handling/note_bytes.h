/* note_bytes.h - what an entry of an alert's history counts for its tenant. */
#pragma once
#include "features/access/stored_bytes.h"

/* In SQL: a note counts as a report's row does (access/stored_bytes.h). */
#define ALERT_NOTE_BYTES(text) "CASE WHEN note IS NULL THEN 0 ELSE " STORED_ROW text("note") " END"
