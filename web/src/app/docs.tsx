// The entry point of /docs, a page of its own: it needs no session, and the portal does not load it.

import "../style/base.css";
import "../style/parts.css";
import "../style/forms.css";
import "../style/docs.css";

import { render } from "preact";

import { Reference } from "../features/status/reference";
import "../lib/theme";

const root = document.getElementById("app");
if (root) render(<Reference />, root);
