// What holds for every page, however it is opened.

import "./habits.suite.mjs";
import "./access.suite.mjs";
import "./demo.suite.mjs";
import "./markup.suite.mjs";
import "./docs.suite.mjs";
import "./layout.suite.mjs";
import "./large.suite.mjs";
import "./light.suite.mjs";
import "./time.suite.mjs";
import "./fields.suite.mjs";
import "./keyboard.suite.mjs";
import "./keyboard_settings.suite.mjs";
import "./tls.suite.mjs";
