// All suites in one process, so that they share one browser. To run one alone:
// `node --test tests/browser/NAME.suite.mjs`.

import "./sign_in.suite.mjs";
import "./budget.suite.mjs";
import "./runs.suite.mjs";
import "./explorer.suite.mjs";
import "./workflows.suite.mjs";
import "./spans.suite.mjs";
import "./figures.suite.mjs";
import "./habits.suite.mjs";
import "./agent.suite.mjs";
import "./settings.suite.mjs";
import "./alerts.suite.mjs";
import "./access.suite.mjs";
import "./markup.suite.mjs";
import "./docs.suite.mjs";
import "./layout.suite.mjs";
import "./large.suite.mjs";
import "./light.suite.mjs";
import "./time.suite.mjs";
import "./fields.suite.mjs";
import "./keyboard.suite.mjs";
import "./tls.suite.mjs";
