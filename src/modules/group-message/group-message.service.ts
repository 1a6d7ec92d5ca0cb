import { Injectable } from '@nestjs/common';
import { ChangeService } from './change.service.js';
import { HideService } from './hide.service.js';
import { HistoryService } from './history.service.js';
import { SendService } from './send.service.js';

/** The door to the messages of groups. */
@Injectable()
export class GroupMessageService {
  constructor(
    readonly sends: SendService,
    readonly history: HistoryService,
    readonly changes: ChangeService,
    readonly hides: HideService,
  ) {}
}
