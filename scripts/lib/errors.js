'use strict';

/** An error whose message is the one line a person needs: what is wrong and what to do. Shown without a stack. */
class UserError extends Error {}

/** Thrown out of whatever is waited for when the run is asked to stop; not a failure. */
class Stopped extends Error {
  constructor() {
    super('stopped');
  }
}

const rightsCodes = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EISDIR']);

/** True when a program's words say that it found no room on the disk. */
function mentionsFullDisk(text) {
  return /ENOSPC|No space left on device|Errcode: 28|error:? (number )?28\b|errno:? 28\b/i.test(text);
}

/**
 * The line to show for any error.
 * @param {unknown} error
 * @returns {string}
 */
function explain(error) {
  if (error instanceof UserError) return error.message;
  const { code, path, message } = /** @type {NodeJS.ErrnoException} */ (error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return `The disk is full${path ? ` (${path})` : ''}: free some space and run the command again.`;
  }
  if (rightsCodes.has(code)) {
    return `Cannot write ${path ?? 'a file'} (${code}): give this user the right to write there and run the command again.`;
  }
  return `Unexpected failure: ${message ?? error}`;
}

module.exports = { UserError, Stopped, explain, mentionsFullDisk };
