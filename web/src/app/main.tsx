// The entry point of the portal.

import "uplot/dist/uPlot.min.css";
import "../style/base.css";
import "../style/shell.css";
import "../style/parts.css";
import "../style/tables.css";
import "../style/facets.css";
import "../style/charts.css";
import "../style/totals.css";
import "../style/run.css";
import "../style/spans.css";
import "../style/workflow.css";
import "../style/forms.css";
import "../style/alerts.css";

import { render } from "preact";

import { CALLBACK, returnFromProvider } from "../features/access/provider";
import { loadSession } from "../features/access/session";
import { keepFocus } from "../lib/focus";
import { App } from "./app";

const root = document.getElementById("app");
if (root) render(<App />, root);
keepFocus();
void (location.pathname === CALLBACK ? returnFromProvider() : loadSession());
