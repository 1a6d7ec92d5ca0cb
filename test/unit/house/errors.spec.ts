import { ERROR_TABLE } from '../../../src/platform/errors/error-table.js';
import { filesBelow, readText } from './sources.js';

describe('error codes', () => {
  it('are those of docs/protocol.md, with the same status and the same answer to "again?"', () => {
    const rows = [...readText('docs/protocol.md').matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \| (yes|no) \|/gm)];
    const documented = Object.fromEntries(
      rows.map(([, code, status, retryable]) => [code, { status: Number(status), retryable: retryable === 'yes' }]),
    );
    const real = Object.fromEntries(
      Object.entries(ERROR_TABLE).map(([code, { status, retryable }]) => [code, { status, retryable }]),
    );
    expect(documented).toEqual(real);
  });

  it('say what to do next', () => {
    for (const [code, { text }] of Object.entries(ERROR_TABLE)) expect(`${code}: ${text}`).toMatch(/: [A-Z].+\.$/);
  });

  it('leave the modules only as AppError', () => {
    const strangers = filesBelow('src/modules', '.ts').filter(({ text }) =>
      /throw new (\w*Exception|HttpException|WsException)\(/.test(text),
    );
    expect(strangers.map(({ path }) => path)).toEqual([]);
  });
});
