// The primitives that most pages need, in one module and so in one file of the bundle: a page then
// loads few files. Charts and trees are imported from their own files, by the pages that have them.

import "../lib/paths"; // small, and needed by nearly all of them: not a file of their own
import "../lib/theme";

export * from "./card";
export * from "./chip";
export * from "./choices";
export * from "./copy";
export * from "./dialog";
export * from "./feedback";
export * from "./field";
export * from "./forms";
export * from "./icons";
export * from "./mark";
export * from "./menu";
export * from "./not_found";
export * from "./pager";
export * from "./period";
export * from "./search_field";
export * from "./table";
export * from "./tabs";
export * from "./time";
