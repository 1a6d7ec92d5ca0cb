import { Injectable } from '@nestjs/common';
import { HistoryService } from './history.service.js';
import { SendService } from './send.service.js';

/** The door to the messages of groups. */
@Injectable()
export class GroupMessageService {
  constructor(
    readonly sends: SendService,
    readonly history: HistoryService,
  ) {}
}
