'use strict';
// A node that does nothing but `ws` and Redis Pub/Sub: one `send` a connection, no rooms, no heartbeat, nothing stored. It
// speaks as much of Engine.IO's and Socket.IO's text as the load client needs, so all systems deliver the same bytes. What
// it costs is what a loop over WebSockets costs. The token is the topic.
const { createServer } = require('node:http');
const { Redis } = require('ioredis');
const { messageOf } = require('./reference-message');

const socketIo = require.resolve('socket.io');
const { WebSocketServer } = require(
  require.resolve('ws', { paths: [require.resolve('engine.io', { paths: [socketIo] })] }),
);

const [port, redisUrl] = process.argv.slice(2);
const http = createServer((_request, response) => response.end('ok'));
const websockets = new WebSocketServer({ server: http, perMessageDeflate: false });
const [pub, sub] = [new Redis(redisUrl), new Redis(redisUrl)];
const topics = new Map();
const CHANNEL = 'raw:';

function join(connection, topic) {
  if (!topics.has(topic)) {
    topics.set(topic, new Set());
    void sub.subscribe(CHANNEL + topic);
  }
  const members = topics.get(topic);
  members.add(connection);
  connection.on('close', () => members.delete(connection));
}

sub.on('message', (channel, text) => {
  const packet = Buffer.from(text);
  for (const connection of topics.get(channel.slice(CHANNEL.length))) connection.send(packet, { binary: false });
});

function send(connection, text) {
  const [, id, body] = /^42\/im,(\d+)(.*)$/s.exec(text);
  const message = messageOf(JSON.parse(body)[1]);
  const answer = { ok: true, seq: message.seq, messageId: message.id, createdAt: message.createdAt, duplicate: false };
  connection.send(`43/im,${id}[${JSON.stringify(answer)}]`);
  const frame = { topic: message.topic, messages: [message], voids: [], stableSeq: message.seq };
  void pub.publish(CHANNEL + message.topic, `42/im,${JSON.stringify(['messages', frame])}`);
}

websockets.on('connection', (connection) => {
  connection.on('message', (data) => {
    const text = data.toString();
    if (text.startsWith('42')) return send(connection, text);
    if (!text.startsWith('40/im,')) return undefined;
    join(connection, JSON.parse(text.slice('40/im,'.length)).token);
    connection.send('42/im,["session:ready",{"topics":1}]');
  });
  connection.send('0{}');
});

process.on('SIGTERM', () => process.exit(0));
http.listen(Number(port), '127.0.0.1');
