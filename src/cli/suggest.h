/* suggest.h - the word that a mistyped one probably means. */
#pragma once

/* The nearest of `words`, which end in NULL; NULL when none is near. Borrowed from `words`. */
const char *suggest(const char *typed, const char *const *words);
