interface ErrorRow {
  /** HTTP status of the problem document. */
  readonly status: number;
  /** May the same call, unchanged, succeed later? */
  readonly retryable: boolean;
  /** Default text: what happened and what to do next. */
  readonly text: string;
}

const row = (status: number, text: string, retryable = false): ErrorRow => ({ status, retryable, text });

/** All error codes of the wire, for acks and problem documents alike (docs/protocol.md). */
export const ERROR_TABLE = {
  UNAUTHENTICATED: row(401, 'The credentials are missing or wrong. Log in again.'),
  TOKEN_EXPIRED: row(401, 'The token has expired. Get a new one by POST /v1/auth/refresh or log in again.'),
  FORBIDDEN: row(403, 'Your role does not allow this.'),
  NOT_MEMBER: row(403, 'You are not a member of this topic. Join it first.'),
  MUTED: row(403, 'You are muted in this topic. Send again when the mute has ended.'),
  BLOCKED: row(403, 'The other side does not accept this from you.'),
  TENANT_UNKNOWN: row(404, 'There is no such tenant. Check the enterprise code.'),
  TENANT_DISABLED: row(403, 'This tenant is disabled. Ask its operator.'),
  NOT_FOUND: row(404, 'There is no such thing, or you may not see it.'),
  VALIDATION_FAILED: row(400, 'The request is not valid. Correct what "details" names.'),
  PAYLOAD_TOO_LARGE: row(413, 'The request is too large. Send less, or upload it as a file.'),
  CONFLICT: row(409, 'The thing has changed meanwhile. Read it again and repeat.'),
  IDEMPOTENCY_CONFLICT: row(409, 'This id was used before with other content. Use a new id for a new request.'),
  IN_PROGRESS: row(409, 'The same request is still running. Repeat it with the same id in a moment.', true),
  RATE_LIMITED: row(429, 'Too many requests. Wait as long as told and repeat.', true),
  CAPTCHA_INVALID: row(400, 'The code is wrong. Check it and try again.'),
  CAPTCHA_EXPIRED: row(400, 'The code has expired. Ask for a new one.'),
  CAPTCHA_LOCKED: row(429, 'Too many wrong tries; the code is burnt. Ask for a new one.'),
  TOKEN_USED: row(409, 'This token was used already. Start the procedure again.'),
  SEQ_UNAVAILABLE: row(503, 'The message cannot be numbered right now. Repeat with the same clientMsgId.', true),
  STORAGE_UNAVAILABLE: row(503, 'The storage does not answer, the outcome may be open. Repeat with the same id.', true),
  SHORT_STATE_UNAVAILABLE: row(503, 'A security check cannot be made right now. Repeat later.', true),
  OVERLOADED: row(503, 'The server is busy. Wait a moment and repeat.', true),
  GROUP_DISMISSED: row(410, 'The group was dismissed.'),
  UNKNOWN_EVENT: row(400, 'There is no such event. See docs/protocol.md for the events.'),
  INTERNAL: row(500, 'Something went wrong on our side. It was logged; repeat later.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;
