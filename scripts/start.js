'use strict';
require('./lib/node-version').requireSupportedNode();
// Signals are heard from the first moment on, before the rest is even loaded.
const control = require('./lib/stop-control').StopControl.listen();
void require('./lib/launcher').main(control);
