import { Injectable } from '@nestjs/common';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import { GROUP_ROLES, type GroupRole } from './group.types.js';

/** The last member that a page showed; the next page goes on behind it. */
export interface MemberPosition {
  readonly role: GroupRole;
  readonly joinedAtMs: number;
  readonly uid: string;
}

/** Cursors of the member list. */
@Injectable()
export class MemberCursors {
  constructor(private readonly cursors: SignedCursors) {}

  /** @param list names tenant, group and filters */
  write(list: string, position: MemberPosition): string {
    return this.cursors.write(list, `${GROUP_ROLES.indexOf(position.role)},${position.joinedAtMs},${position.uid}`);
  }

  /** @throws AppError VALIDATION_FAILED for anything that `write` did not make for this list */
  read(list: string, cursor: string): MemberPosition {
    const [rank, joinedAtMs, uid] = this.cursors.read(list, cursor).split(',');
    return { role: GROUP_ROLES[Number(rank)], joinedAtMs: Number(joinedAtMs), uid };
  }
}
