/**
 * The client's address: the socket's own, or behind `depth` trusted proxies the entry that the outermost of them
 * appended to X-Forwarded-For. Entries further left were written by the client and mean nothing.
 */
export function clientAddress(remote: string | undefined, forwardedFor: string | undefined, depth: number): string {
  const own = (remote ?? '').replace(/^::ffff:/, '') || 'unknown';
  if (depth === 0 || !forwardedFor) return own;
  const entries = forwardedFor.split(',').map((entry) => entry.trim());
  return entries[Math.max(0, entries.length - depth)] || own;
}
