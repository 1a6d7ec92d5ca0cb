'use strict';
// Preloaded into every node that is measured, of whichever system: answers over a UNIX socket how long its event loop was
// kept, and collects its garbage on request, so that memory is compared without what nobody uses any more.
const fs = require('node:fs');
const inspector = require('node:inspector');
const net = require('node:net');
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 5;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
/** The timer's own period is part of what the histogram holds. */
const lateMs = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
let session;

const post = (method) =>
  new Promise((resolve, reject) => session.post(method, (error, value) => (error ? reject(error) : resolve(value))));

const commands = {
  async begin({ profile }) {
    if (profile) {
      session ??= new inspector.Session();
      session.connect();
      await post('Profiler.enable');
      await post('Profiler.start');
    }
    delay.reset();
    delay.enable();
    return {};
  },
  async end({ profile }) {
    delay.disable();
    const figures = { loopP99Ms: lateMs(delay.percentile(99)), loopMaxMs: lateMs(delay.max) };
    if (profile) {
      const result = await post('Profiler.stop');
      fs.writeFileSync(profile, JSON.stringify(result.profile));
      session.disconnect();
      session = undefined;
    }
    return figures;
  },
  async collect() {
    // What the first one frees lets go of more.
    for (let turn = 0; turn < 3; turn += 1) {
      global.gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { heapUsed, external } = process.memoryUsage();
    return { heapUsed, external };
  },
};

const server = net.createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', async (line) => {
    const { command, ...given } = JSON.parse(line.toString());
    socket.end(JSON.stringify(await commands[command](given)));
  });
});
server.listen({ path: `\0${process.env.BENCH_PROBE}` });
server.unref();
