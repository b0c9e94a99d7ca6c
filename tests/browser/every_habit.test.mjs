// What people can rely on in every page: the keyboard, times, fields, a service that goes away.

import "./habits.suite.mjs";
import "./docs.suite.mjs";
import "./large.suite.mjs";
import "./light.suite.mjs";
import "./time.suite.mjs";
import "./fields.suite.mjs";
import "./keyboard.suite.mjs";
import "./keyboard_settings.suite.mjs";
import "./tls.suite.mjs";
