'use strict';

let seq = 0;

/** What the product would make of a request, in its shape and size; numbered by this process, stored nowhere. */
function messageOf({ topic, clientMsgId, type, content }) {
  seq += 1;
  const time = new Date().toISOString();
  return {
    ...{ id: String(seq), topic, seq, from: '1', clientMsgId, type, content, head: null },
    ...{ mentionedUserIds: [], mentionAll: false, replySeq: null, rootSeq: null },
    ...{ status: 'normal', version: 1, createdAt: time, updatedAt: time },
  };
}

module.exports = { messageOf };
