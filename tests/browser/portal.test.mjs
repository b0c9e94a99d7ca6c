// What the pages do. The suites share a process, and so a browser; those of every_page.test.mjs and
// every_habit.test.mjs run beside them. To run one alone: `node --test tests/browser/NAME.suite.mjs`.

import "./sign_in.suite.mjs";
import "./oidc.suite.mjs";
import "./budget.suite.mjs";
import "./runs.suite.mjs";
import "./explorer.suite.mjs";
import "./workflows.suite.mjs";
import "./spans.suite.mjs";
import "./figures.suite.mjs";
import "./numbers.suite.mjs";
import "./agent.suite.mjs";
import "./schedule.suite.mjs";
import "./settings.suite.mjs";
import "./alerts.suite.mjs";
import "./missing.suite.mjs";
