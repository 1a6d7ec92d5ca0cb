'use strict';
// A plain Socket.IO node with the Redis adapter: what most people would build. It acknowledges at once, stores nothing and
// checks nothing; its frames have the shape of the product's, so that both deliver the same bytes. The token is the topic.
const { createServer } = require('node:http');
const { createAdapter } = require('@socket.io/redis-adapter');
const { Redis } = require('ioredis');
const { Server } = require('socket.io');
const { messageOf } = require('./reference-message');

const [port, redisUrl] = process.argv.slice(2);
const http = createServer((_request, response) => response.end('ok'));
const io = new Server(http, { serveClient: false, adapter: createAdapter(new Redis(redisUrl), new Redis(redisUrl)) });
const namespace = io.of('/im');

namespace.on('connection', (socket) => {
  socket.join(socket.handshake.auth.token);
  socket.on('message:send', (request, ack) => {
    const message = messageOf(request);
    ack({ ok: true, seq: message.seq, messageId: message.id, createdAt: message.createdAt, duplicate: false });
    const frame = { topic: message.topic, messages: [message], voids: [], stableSeq: message.seq };
    namespace.to(message.topic).emit('messages', frame);
  });
  socket.emit('session:ready', { topics: 1 });
});

process.on('SIGTERM', () => process.exit(0));
http.listen(Number(port), '127.0.0.1');
