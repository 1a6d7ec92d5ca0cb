import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import { invalid } from '../errors/app-error.js';

/** Bytes of the signature: enough that nobody guesses one. */
const SIGNATURE_BYTES = 16;

/**
 * Cursors of lists: opaque to clients, and good only for the list they were made for. A changed one, one of another
 * tenant, list or filter is refused.
 */
@Injectable()
export class SignedCursors {
  private readonly key: Buffer;

  constructor(@Inject(ENV) env: Pick<Env, 'JWT_SECRET'>) {
    this.key = createHmac('sha256', env.JWT_SECRET).update('member list cursor').digest();
  }

  /**
   * @param list names all that the list depends on: its kind, tenant, whose it is, filters
   * @param position where the next page goes on
   */
  write(list: string, position: string): string {
    return Buffer.concat([this.sign(list, position), Buffer.from(position)]).toString('base64url');
  }

  /** @throws AppError VALIDATION_FAILED for anything that `write` did not make for this list */
  read(list: string, cursor: string): string {
    const bytes = Buffer.from(cursor, 'base64url');
    const position = bytes.subarray(SIGNATURE_BYTES).toString();
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    const genuine =
      // Decoding is lenient; only the one spelling that was handed out is good.
      bytes.toString('base64url') === cursor &&
      signature.length === SIGNATURE_BYTES &&
      timingSafeEqual(signature, this.sign(list, position));
    if (!genuine) throw invalid('cursor', 'does not belong to this list: start again without a cursor');
    return position;
  }

  private sign(list: string, position: string): Buffer {
    return createHmac('sha256', this.key).update(`${list}\n${position}`).digest().subarray(0, SIGNATURE_BYTES);
  }
}
