'use strict';
require('./lib/node-version').requireSupportedNode();
require('./lib/launcher').main();
