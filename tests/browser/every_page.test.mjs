// What every page shows, however it is opened.

import "./access.suite.mjs";
import "./demo.suite.mjs";
import "./markup.suite.mjs";
import "./layout.suite.mjs";
