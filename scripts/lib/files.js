'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { UserError } = require('./errors');

/** Writes a file so that a reader sees the old or the new content, never a half. */
function writeAtomic(file, content, mode = 0o600) {
  const half = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(half, content, { mode });
  fs.renameSync(half, file);
}

/** Writes JSON as {@link writeAtomic} does; readable by the owner only, since most of these files hold secrets. */
function writeJson(file, value) {
  writeAtomic(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** The file's JSON, or undefined when there is no such file or it is not JSON. */
function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The file's text, or undefined when it cannot be read. */
function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The last `count` lines of a file that hold something, for showing why a program ended. */
function lastLines(file, count = 8) {
  const lines = (readText(file) ?? '').split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-count).join('\n');
}

function* filesUnder(place) {
  const stat = fs.statSync(place, { throwIfNoEntry: false });
  if (!stat) return;
  if (!stat.isDirectory()) {
    yield place;
    return;
  }
  for (const name of fs.readdirSync(place).sort()) yield* filesUnder(path.join(place, name));
}

/**
 * One hash over names and contents of files and folders; those that do not exist count as empty.
 * @param {string} root names are taken relative to it, so that a copied folder has the same hash
 * @param {string[]} places relative to root
 */
function hashOf(root, places) {
  const hash = createHash('sha256');
  for (const place of places) {
    for (const file of filesUnder(path.join(root, place))) {
      const content = fs.readFileSync(file);
      hash.update(`${path.relative(root, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}

/** How many MB this user may still write there. */
function freeMbAt(folder) {
  const { bavail, bsize } = fs.statfsSync(folder);
  return Math.floor((bavail * bsize) / 1e6);
}

/** Makes the folder and proves that it can be written and that `neededMb` MB are free; a UserError says what is wrong. */
function requireRoom(folder, neededMb) {
  try {
    fs.mkdirSync(folder, { recursive: true });
    const probe = path.join(folder, `.probe-${process.pid}`);
    fs.writeFileSync(probe, 'x');
    fs.unlinkSync(probe);
  } catch (error) {
    if (error.code === 'ENOSPC') throw error;
    throw new UserError(
      `Cannot write to ${folder} (${error.code}): give this user the right to write there and run the command again.`,
    );
  }
  const freeMb = freeMbAt(folder);
  if (freeMb < neededMb) {
    throw new UserError(
      `The disk is full: ${freeMb} MB are free at ${folder}, ${neededMb} MB are needed. Free some space and run the command again.`,
    );
  }
}

/** Moves a log aside (one older copy is kept) once it is larger than `maxBytes`. */
function rotateLog(file, maxBytes = 20 * 1024 * 1024) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat && stat.size > maxBytes) fs.renameSync(file, `${file}.1`);
}

module.exports = { writeAtomic, writeJson, readJson, readText, lastLines, hashOf, freeMbAt, requireRoom, rotateLog };
