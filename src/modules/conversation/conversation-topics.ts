import { Injectable } from '@nestjs/common';
import { compareIds, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { DirectMessageService } from '../direct-message/direct-message.service.js';
import { GroupService } from '../group/group.service.js';

/** Which conversations a user has. */
@Injectable()
export class ConversationTopics {
  constructor(
    private readonly groups: GroupService,
    private readonly direct: DirectMessageService,
  ) {}

  /** Groups, then private chats, each in the order of their ids: an order that nothing changes. */
  async of(tenant: TenantId, uid: UserId): Promise<Topic[]> {
    const [groups, direct] = await Promise.all([this.groups.topicsOf(tenant, uid), this.direct.topicsOf(tenant, uid)]);
    return [...groups, ...direct].sort(compareTopics);
  }
}

/** Of the two, which stands first in the list? */
export function compareTopics(a: Topic, b: Topic): number {
  const [kindA, ...idsA] = a.split('_');
  const [kindB, ...idsB] = b.split('_');
  if (kindA !== kindB) return kindA < kindB ? -1 : 1;
  return compareIds(idsA[0], idsB[0]) || compareIds(idsA[1] ?? '', idsB[1] ?? '');
}
