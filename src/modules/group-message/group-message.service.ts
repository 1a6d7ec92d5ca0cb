import { Injectable } from '@nestjs/common';
import { ChangeService } from './change.service.js';
import { HideService } from './hide.service.js';
import { HistoryService } from './history.service.js';
import { SendService } from './send.service.js';

// What private messages are made with, too: rows, pages and quotes have one form.
export { bodyOf, changedMessage, freshRow, MESSAGE_COLUMNS, messageOf } from './message-row.js';
export type { MessageBody, MessageRow } from './message-row.js';
export { readPage } from './mysql-pages.js';
export { PageRow, type PageValues } from './page-row.js';
export { quoteOf, quotingMessage } from './quote.js';
export { wanted as wantedQuotes } from './quote.service.js';

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
