'use strict';
/* Plain old syntax on purpose: this file must be readable by the very Node.js versions that it turns away. */

/**
 * Says whether this Node.js can run the product: it loads ES modules with require(), which 20.19, 22.12 and 23 brought.
 * @param {string} version such as `v20.19.0`
 * @returns {boolean}
 */
function isSupported(version) {
  var parts = version.replace(/^v/, '').split('.').map(Number);
  var major = parts[0];
  var minor = parts[1];
  if (major === 20) return minor >= 19;
  if (major === 22) return minor >= 12;
  return major >= 23;
}

/** Ends the process with one line when this Node.js is too old. */
function requireSupportedNode() {
  if (isSupported(process.version)) return;
  console.error(
    'Trident IM needs Node.js 20.19 or later (of 22: 22.12 or later); this is ' +
      process.version +
      '. Install Node.js 24 and run the command again.',
  );
  process.exit(1);
}

module.exports = { isSupported: isSupported, requireSupportedNode: requireSupportedNode };
