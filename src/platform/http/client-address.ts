import { isIP } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

const ADDRESS = Symbol('clientAddress');
type WithAddress = { [ADDRESS]?: string };

/** What is counted as one address when there is none (a connection that has ended already). */
const UNKNOWN = 'unknown';

/**
 * The client's address, in one spelling for each address: the connection's own, or behind `depth` trusted proxies the
 * entry of X-Forwarded-For that the outermost of them appended. Entries further left were written by the client and mean
 * nothing; a request with fewer entries than proxies came around one of them, and its header is not believed at all.
 * @param remote the connection's own peer
 * @param forwardedFor the header, several of them joined by commas
 * @param depth how many trusted proxies stand before the node (TRUSTED_PROXY_DEPTH)
 */
export function clientAddress(
  remote: string | undefined,
  forwardedFor: string | string[] | undefined,
  depth: number,
): string {
  const own = normalAddress(remote ?? '') ?? UNKNOWN;
  if (depth === 0 || forwardedFor === undefined) return own;
  const entries = String(forwardedFor).split(',');
  return normalAddress(entries[entries.length - depth] ?? '') ?? own;
}

/**
 * What limits count as one: an IPv4 address, or the /64 network of an IPv6 address, since that is what one connection gets
 * and changing the lower half costs nothing.
 */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address;
  const network = groupsOf(address)
    .slice(0, 4)
    .map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** Notes every request's client address, for `addressOf` and `@ClientAddress()`. */
export function noteClientAddress(depth: number) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    const { remoteAddress } = request.socket;
    (request as WithAddress)[ADDRESS] = clientAddress(remoteAddress, request.headers['x-forwarded-for'], depth);
    next();
  };
}

export function addressOf(request: Request): string {
  return (request as WithAddress)[ADDRESS] ?? UNKNOWN;
}

/** Controller parameter: from which address the call comes. */
export const ClientAddress = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  addressOf(context.switchToHttp().getRequest<Request>()),
);

/** @returns null for what is no address; an entry may carry a port, brackets or a zone */
function normalAddress(text: string): string | null {
  const bare = /^\s*(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+)(?::\d+)?|([^\s[\]]+))\s*$/.exec(text);
  const address = (bare?.[1] ?? bare?.[2] ?? bare?.[3] ?? '').replace(/%.*$/, '');
  const kind = isIP(address);
  if (kind !== 6) return kind === 4 ? address : null;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255].join('.');
  return groups.map((group) => group.toString(16)).join(':');
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = dotted
    ? `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
    : address;
  const [left, right] = hex.split('::');
  const parse = (half: string | undefined): number[] =>
    half ? half.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const head = parse(left);
  const tail = parse(right);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}
