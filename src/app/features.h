/* features.h - every feature, in the order in which they start. */
#pragma once
struct feature;

extern const struct feature *const features[]; /* ends in NULL */
