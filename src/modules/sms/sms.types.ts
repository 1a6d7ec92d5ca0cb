/** A verification code on its way to a phone. */
export interface SmsCode {
  /** E.164, such as `+8613800000000`. */
  readonly phone: string;
  readonly code: string;
}

/**
 * `unknown`: the provider did not answer, the message may arrive and may be paid for. Nobody repeats it by himself.
 */
export type SmsOutcome = 'sent' | 'unknown';

/** Why a message was certainly not sent. */
export type SmsRefusal =
  /** the provider takes no such number */
  | 'number'
  /** the provider's own limit for this number */
  | 'limited'
  /** settings, signature, template, balance: the operator has to act */
  | 'setup'
  /** could not be reached at all, or is busy */
  | 'unavailable';

/** The message was not sent and costs nothing. */
export class SmsRefused extends Error {
  constructor(
    readonly reason: SmsRefusal,
    /** For the log: the provider's words, never the number or the code. */
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'SmsRefused';
  }
}

/** The port to whoever carries text messages. One call, no repetition, an end within the provider's time-out. */
export interface SmsProvider {
  readonly name: string;
  /** @throws SmsRefused */
  send(message: SmsCode): Promise<SmsOutcome>;
}
