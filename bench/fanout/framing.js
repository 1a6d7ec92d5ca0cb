'use strict';

/** A WebSocket text frame as a client sends it; masked with zeros, which the standard allows and costs nothing. */
function clientFrame(text, opcode = 1) {
  const payload = Buffer.isBuffer(text) ? text : Buffer.from(text);
  const { length } = payload;
  if (length > 0xffff) throw new Error('the load client sends no frame above 64 KiB');
  const head = length < 126 ? [0x80 | opcode, 0x80 | length] : [0x80 | opcode, 0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), payload]);
}

/**
 * Calls `onFrame(opcode, buffer, start, end)` for each whole frame in the first `length` bytes.
 * @returns {number} bytes used; the rest is the beginning of a frame
 */
function readFrames(buffer, length, onFrame) {
  let at = 0;
  while (length - at >= 2) {
    let payload = buffer[at + 1] & 127;
    let head = 2;
    if (payload === 126) {
      if (length - at < 4) break;
      payload = buffer.readUInt16BE(at + 2);
      head = 4;
    } else if (payload === 127) {
      if (length - at < 10) break;
      payload = Number(buffer.readBigUInt64BE(at + 2));
      head = 10;
    }
    const end = at + head + payload;
    if (end > length) break;
    onFrame(buffer[at] & 15, buffer, at + head, end);
    at = end;
  }
  return at;
}

module.exports = { clientFrame, readFrames };
