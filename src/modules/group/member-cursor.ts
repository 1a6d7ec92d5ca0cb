import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { invalid } from '../../platform/errors/app-error.js';
import { GROUP_ROLES, type GroupRole } from './group.types.js';

/** The last member that a page showed; the next page goes on behind it. */
export interface MemberPosition {
  readonly role: GroupRole;
  readonly joinedAtMs: number;
  readonly uid: string;
}

/** Bytes of the signature: enough that nobody guesses one. */
const SIGNATURE_BYTES = 16;

/**
 * Cursors of the member list: opaque to clients, and good only for the list they were made for. A changed one, one of
 * another tenant, group or filter is refused.
 */
@Injectable()
export class MemberCursors {
  private readonly key: Buffer;

  constructor(@Inject(ENV) env: Pick<Env, 'JWT_SECRET'>) {
    this.key = createHmac('sha256', env.JWT_SECRET).update('member list cursor').digest();
  }

  /** @param list names tenant, group and filters */
  write(list: string, position: MemberPosition): string {
    const text = `${GROUP_ROLES.indexOf(position.role)},${position.joinedAtMs},${position.uid}`;
    return Buffer.concat([this.sign(list, text), Buffer.from(text)]).toString('base64url');
  }

  /** @throws AppError VALIDATION_FAILED for anything that `write` did not make for this list */
  read(list: string, cursor: string): MemberPosition {
    const bytes = Buffer.from(cursor, 'base64url');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    const genuine =
      // Decoding is lenient; only the one spelling that was handed out is good.
      bytes.toString('base64url') === cursor &&
      signature.length === SIGNATURE_BYTES &&
      timingSafeEqual(signature, this.sign(list, text));
    if (!genuine) throw invalid('cursor', 'does not belong to this list: start again without a cursor');
    const [rank, joinedAtMs, uid] = text.split(',');
    return { role: GROUP_ROLES[Number(rank)], joinedAtMs: Number(joinedAtMs), uid };
  }

  private sign(list: string, text: string): Buffer {
    return createHmac('sha256', this.key).update(`${list}\n${text}`).digest().subarray(0, SIGNATURE_BYTES);
  }
}
